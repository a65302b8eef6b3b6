//! A lane whose values are expressions, to prove what a kernel's text computes for all inputs.
//!
//! The kernels' crates implement their traits for [`Term`]. A kernel that runs on terms leaves the expressions of its results;
//! [`Proof::holds`] asks z3 whether a statement about them can be false. [`Proof::fails`] demands that it can, of a weaker
//! statement: without it, a statement that is true of nothing would pass. The scripts are left in `target/smt`; the last line of each
//! has z3's answer and time, `unsat` where nothing contradicts the statement.
//!
//! A word is an integer below a power of 2, and wraps where a word does: a sum is that less `2^64` where there is no room for it,
//! a shift or a mask the quotient or the rest of a division. Each is linear, and exact; as bit-vectors, the same statements
//! about sums of several words in different orders take the solver minutes. What a product of digits can be is a free
//! variable below its bound: no multiplication is left to the solver. Congruence modulo the order is stated with the
//! multiple of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[cfg(test)]
mod instructions;
#[cfg(test)]
mod text;

/// An expression. A word of so many bits is an integer below that power of 2; statements are about integers of any size, and
/// signed: `bits` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    id: usize,
    bits: u32,
}

/// The bits of a truth value, which is no word.
const TRUTH: u32 = u32::MAX;

#[derive(Default)]
struct Script {
    text: String,
    terms: usize,
    /// Equal expressions are one term, so that nothing has to be shown of the pieces of a word twice.
    known: HashMap<(u32, String), Term>,
    /// The assumptions of the expressions, and the kernel's demands on its operations.
    assumed: Vec<Term>,
    required: Vec<Term>,
    /// The values of constants.
    constants: HashMap<Term, i128>,
    /// Factors and products of free variables.
    products: Vec<[Term; 3]>,
}

thread_local! {
    static SCRIPT: RefCell<Script> = RefCell::default();
}

/// A literal of SMT-LIB.
fn literal(x: i128) -> String {
    if x < 0 {
        format!("(- {})", x.unsigned_abs())
    } else {
        x.to_string()
    }
}

/// `2^bits`, a literal.
fn power(bits: u32) -> String {
    literal(1 << bits)
}

impl Script {
    fn assert(&mut self, statement: &str) {
        writeln!(self.text, "(assert {statement})").expect("a string");
    }

    fn declare(&mut self, bits: u32) -> Term {
        let id = self.terms;
        self.terms += 1;
        let sort = if bits == TRUTH { "Bool" } else { "Int" };
        writeln!(self.text, "(declare-const t{id} {sort})").expect("a string");
        if bits != 0 && bits != TRUTH {
            self.assert(&format!("(and (<= 0 t{id}) (< t{id} {}))", power(bits)));
        }
        Term { id, bits }
    }

    /// The term for an expression, whose value is within the word.
    fn define(&mut self, bits: u32, expression: String) -> Term {
        if let Some(term) = self.known.get(&(bits, expression.clone())) {
            return *term;
        }
        let term = self.declare(bits);
        self.assert(&format!("(= t{} {expression})", term.id));
        self.known.insert((bits, expression), term);
        term
    }

    /// The term for an expression that takes a bit, which the word has room for one of only.
    fn define_with_bit(
        &mut self,
        bits: u32,
        key: &str,
        expression: impl FnOnce(&mut Self, &str) -> String,
    ) -> Term {
        let key = (bits, format!("with a bit {key}"));
        if let Some(term) = self.known.get(&key) {
            return *term;
        }
        let bit = format!("t{}", self.declare(1).id);
        let expression = expression(self, &bit);
        let term = self.declare(bits);
        self.assert(&format!("(= t{} {expression})", term.id));
        self.known.insert(key, term);
        term
    }

    /// `x = 2^distance quotient + rest`.
    fn divide(&mut self, x: Term, distance: u32) -> [Term; 2] {
        let key = |what: &str| (0, format!("{what} {distance} t{}", x.id));
        if let Some(quotient) = self.known.get(&key("quotient")) {
            return [*quotient, self.known[&key("rest")]];
        }
        let rest = self.declare(distance);
        // That of a negative integer is negative.
        let quotient = match x.bits {
            0 => self.declare(0),
            bits => self.declare(bits - distance),
        };
        let (q, r) = (quotient.id, rest.id);
        self.assert(&format!(
            "(= t{} (+ (* {} t{q}) t{r}))",
            x.id,
            power(distance)
        ));
        self.known.insert(key("quotient"), quotient);
        self.known.insert(key("rest"), rest);
        [quotient, rest]
    }
}

/// In a script.
fn scripted<T>(write: impl FnOnce(&mut Script) -> T) -> T {
    SCRIPT.with_borrow_mut(write)
}

/// An integer.
#[must_use]
pub fn integer(x: i128) -> Term {
    Term::constant(x, 0)
}

impl Term {
    /// Any word of `bits` bits.
    #[must_use]
    pub fn variable(bits: u32) -> Self {
        scripted(|script| script.declare(bits))
    }

    /// A constant, of a word or an integer.
    ///
    /// # Panics
    ///
    /// Panics if the word has no room for it.
    #[must_use]
    pub fn constant(x: i128, bits: u32) -> Self {
        assert!(bits == 0 || x >= 0 && x >> bits == 0);
        scripted(|script| {
            let term = script.define(bits, literal(x));
            script.constants.insert(term, x);
            term
        })
    }

    /// The value of a constant.
    #[must_use]
    pub fn known(self) -> Option<i128> {
        scripted(|script| script.constants.get(&self).copied())
    }

    fn linear(self, operator: &str, rhs: Self) -> Self {
        assert_eq!(self.bits, rhs.bits);
        let (x, y, bits) = (self.id, rhs.id, self.bits);
        let exact = format!("({operator} t{x} t{y})");
        if bits == 0 {
            return scripted(|script| script.define(0, exact));
        }
        // Less the word, or plus the word: once or not at all.
        let wrap = if operator == "+" { "-" } else { "+" };
        let word = power(bits);
        scripted(|script| {
            script.define_with_bit(bits, &exact, |_, bit| {
                format!("({wrap} {exact} (* {word} {bit}))")
            })
        })
    }

    /// The sum, modulo the word.
    #[must_use]
    pub fn plus(self, rhs: Self) -> Self {
        self.linear("+", rhs)
    }

    /// The difference, modulo the word.
    #[must_use]
    pub fn minus(self, rhs: Self) -> Self {
        self.linear("-", rhs)
    }

    /// The product with a constant, modulo the word.
    #[must_use]
    pub fn times(self, factor: i128) -> Self {
        let exact =
            scripted(|script| script.define(0, format!("(* {} t{})", literal(factor), self.id)));
        match self.bits {
            0 => exact,
            bits => {
                let [_, rest] = scripted(|script| script.divide(exact, bits));
                rest
            }
        }
    }

    /// The bits of a mask `2^bits - 1`.
    ///
    /// # Panics
    ///
    /// Panics if `mask` is another constant, or none.
    #[must_use]
    pub fn masked(self, mask: Self) -> Self {
        let mask = mask.known().expect("a constant");
        assert_eq!(mask & (mask + 1), 0);
        self.extract(0, (mask + 1).ilog2()).unsigned(self.bits)
    }

    /// The word with its top bit flipped.
    #[must_use]
    pub fn flipped(self) -> Self {
        self.plus(Self::constant(1 << (self.bits - 1), self.bits))
    }

    /// A shift to the left.
    #[must_use]
    pub fn left(self, distance: u32) -> Self {
        if self.bits == 0 {
            let expression = format!("(* {} t{})", power(distance), self.id);
            return scripted(|script| script.define(0, expression));
        }
        let low = self.extract(0, self.bits - distance);
        scripted(|script| script.define(self.bits, format!("(* {} t{})", power(distance), low.id)))
    }

    /// A shift to the right of an unsigned word, or of an integer, rounded down.
    #[must_use]
    pub fn right(self, distance: u32) -> Self {
        let [quotient, _] = scripted(|script| script.divide(self, distance));
        if self.bits == 0 {
            quotient
        } else {
            quotient.unsigned(self.bits)
        }
    }

    /// A shift to the right of a signed word.
    #[must_use]
    pub fn signed_right(self, distance: u32) -> Self {
        let high = self.extract(distance, self.bits - distance);
        let (x, sign) = (high.id, power(high.bits - 1));
        let ones = literal((1 << self.bits) - (1 << high.bits));
        scripted(|script| {
            script.define_with_bit(self.bits, &format!("extension of t{x}"), |script, bit| {
                let negative = format!("(* {sign} {bit})");
                script.assert(&format!("(<= {negative} t{x})"));
                script.assert(&format!("(< t{x} (+ {sign} {negative}))"));
                format!("(+ t{x} (* {ones} {bit}))")
            })
        })
    }

    /// The `bits` bits from `from` on.
    #[must_use]
    pub fn extract(self, from: u32, bits: u32) -> Self {
        scripted(|script| {
            let above = if from == 0 {
                self
            } else {
                let [quotient, _] = script.divide(self, from);
                quotient
            };
            if above.bits == bits {
                return above;
            }
            let [_, rest] = script.divide(above, bits);
            rest
        })
    }

    /// The same unsigned integer in more bits.
    #[must_use]
    pub fn unsigned(self, bits: u32) -> Self {
        Self { id: self.id, bits }
    }

    /// `self` above `low`.
    #[must_use]
    pub fn above(self, low: Self) -> Self {
        let expression = format!("(+ (* {} t{}) t{})", power(low.bits), self.id, low.id);
        scripted(|script| script.define(self.bits + low.bits, expression))
    }

    /// An unsigned word as an integer.
    #[must_use]
    pub fn integer(self) -> Self {
        self.unsigned(0)
    }

    /// A signed word as an integer.
    #[must_use]
    pub fn signed_integer(self) -> Self {
        let (x, sign, word) = (self.id, power(self.bits - 1), power(self.bits));
        scripted(|script| {
            script.define_with_bit(0, &format!("signed t{x}"), |script, bit| {
                let signed = format!("(- t{x} (* {word} {bit}))");
                script.assert(&format!(
                    "(and (<= (- {sign}) {signed}) (< {signed} {sign}))"
                ));
                signed
            })
        })
    }

    fn predicate(self, operator: &str, rhs: Self) -> Self {
        assert_eq!(self.bits, rhs.bits);
        let expression = format!("({operator} t{} t{})", self.id, rhs.id);
        scripted(|script| script.define(TRUTH, expression))
    }

    /// Tells whether the words or integers are the same.
    #[must_use]
    pub fn is(self, rhs: Self) -> Self {
        self.predicate("=", rhs)
    }

    /// Tells whether this unsigned word, or integer, is less than the other.
    #[must_use]
    pub fn below(self, rhs: Self) -> Self {
        self.predicate("<", rhs)
    }

    /// Tells whether this signed word is less than the other.
    #[must_use]
    pub fn signed_below(self, rhs: Self) -> Self {
        self.signed_integer().below(rhs.signed_integer())
    }

    /// Tells whether this signed word is in `low..end`.
    #[must_use]
    pub fn is_in(self, low: i128, end: i128) -> Self {
        let x = self.signed_integer();
        x.below(integer(end)).and(x.below(integer(low)).negation())
    }

    /// Tells whether this unsigned word is below `end`.
    #[must_use]
    pub fn is_below(self, end: i128) -> Self {
        self.integer().below(integer(end))
    }

    /// Tells whether both are true.
    #[must_use]
    pub fn and(self, rhs: Self) -> Self {
        self.predicate("and", rhs)
    }

    /// Tells whether one is true.
    #[must_use]
    pub fn or(self, rhs: Self) -> Self {
        self.predicate("or", rhs)
    }

    /// Tells whether it is false.
    #[must_use]
    pub fn negation(self) -> Self {
        scripted(|script| script.define(TRUTH, format!("(not t{})", self.id)))
    }

    /// `yes` where this is true.
    #[must_use]
    pub fn choose(self, yes: Self, no: Self) -> Self {
        assert_eq!((self.bits, yes.bits), (TRUTH, no.bits));
        let expression = format!("(ite t{} t{} t{})", self.id, yes.id, no.id);
        scripted(|script| script.define(yes.bits, expression))
    }

    /// The product of the lower `bits` bits, of which only this is known: for either factor `x`, it is at most
    /// `(2^bits - 1) x`. The same factors have the same product.
    #[must_use]
    pub fn product(self, rhs: Self, bits: u32) -> Self {
        let known = products()
            .into_iter()
            .find(|known| known[..2] == [self, rhs]);
        if let Some([_, _, product]) = known {
            return product;
        }
        let product = Self::variable(2 * bits);
        for factor in [self, rhs] {
            let largest = factor.extract(0, bits).integer().times((1 << bits) - 1);
            assume(largest.below(product.integer()).negation());
        }
        scripted(|script| script.products.push([self, rhs, product]));
        product
    }
}

/// Products that were made, each with its factors.
#[must_use]
pub fn products() -> Vec<[Term; 3]> {
    scripted(|script| script.products.clone())
}

/// Assumes a statement about the inputs.
pub fn assume(statement: Term) {
    scripted(|script| script.assumed.push(statement));
}

/// Demands a statement about an operation's operands.
pub fn require(statement: Term) {
    scripted(|script| script.required.push(statement));
}

/// A statement for z3.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a>(pub &'a str);

/// Most take the tactic for linear arithmetic no time, some forever; those the plain solver is good at.
const CHECK: &str = "(check-sat-using (par-or qflia smt))";

/// Seconds that z3 has.
const TIMEOUT: u32 = 60;

impl Proof<'_> {
    /// Demands that the statement, and what the operations demand, follow from what is assumed.
    ///
    /// # Panics
    ///
    /// Panics if they do not, or z3 cannot tell in time.
    pub fn holds(self, statement: impl FnOnce() -> Term) {
        self.expect("unsat", statement);
    }

    /// Demands that the statement, or something that an operation demands, may be false.
    ///
    /// # Panics
    ///
    /// Panics if it cannot, or z3 cannot tell in time.
    pub fn fails(self, statement: impl FnOnce() -> Term) {
        self.expect("sat", statement);
    }

    fn expect(self, verdict: &str, statement: impl FnOnce() -> Term) {
        SCRIPT.take();
        let statement = statement();
        let script = SCRIPT.take();
        let mut text = script.text;
        text.insert_str(0, "(set-logic QF_LIA)\n");
        for assumed in script.assumed {
            writeln!(text, "(assert t{})", assumed.id).expect("a string");
        }
        let goals: Vec<String> = (script.required.iter().chain([&statement]))
            .map(|goal| format!("t{}", goal.id))
            .collect();
        writeln!(text, "(assert (not (and {})))\n{CHECK}", goals.join(" ")).expect("a string");

        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/smt");
        let Self(name) = self;
        let path = folder.join(format!("{}.smt2", name.replace([' ', '/', ','], "-")));
        fs::create_dir_all(&folder).expect("a folder for the scripts");
        fs::write(&path, &text).expect("a script");
        let started = Instant::now();
        let output = Command::new("z3")
            .arg(format!("-T:{TIMEOUT}"))
            .arg("smt.arith.solver=2")
            .arg(&path)
            .output()
            .expect("z3 is installed");
        let seconds = started.elapsed().as_secs_f64();
        let answer = String::from_utf8_lossy(&output.stdout);
        let answer = answer.trim();
        text += &format!("; {name}: {answer} in {seconds:.2} s\n");
        fs::write(&path, text).expect("a script");
        assert_eq!(answer, verdict, "{name}: {}", path.display());
    }
}
