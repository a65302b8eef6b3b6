//! Functions that a patch adds to upstream's files, where no crate can run them on terms: their text is read from the patch,
//! statement by statement, on terms.

use std::path::PathBuf;

use syn::{BinOp, Block, Expr, GenericArgument, ItemFn, Lit, Pat, PathArguments, Stmt};

use super::*;

/// The text of a function as the patch of this name adds it to `file`, the same for every release.
pub fn function(patch: &str, file: &str, name: &str) -> String {
    let releases = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../patches"));
    let mut texts: Vec<String> = fs::read_dir(releases)
        .expect("the patches")
        .filter_map(|release| {
            let patch = release
                .expect("a folder")
                .path()
                .join(format!("{patch}.patch"));
            let patch = fs::read_to_string(patch).ok()?;
            let (_, diff) = patch.split_once(&format!("\n+++ b/{file}\n"))?;
            let diff = diff.split("\ndiff --git ").next()?;
            let lines = diff.lines().skip_while(|line| {
                !(line.starts_with('+') && line.contains(&format!("fn {name}<")))
            });
            let mut text = String::new();
            for line in lines {
                let line = line.strip_prefix('+').expect("an added line");
                text += line;
                text.push('\n');
                if line == "}" {
                    break;
                }
            }
            Some(text)
        })
        .collect();
    texts.dedup();
    assert_eq!(texts.len(), 1, "{name} of {file}: {texts:?}");
    texts.remove(0)
}

/// A word, or several values.
#[derive(Clone, Debug)]
pub enum Value {
    Word(Term),
    Tuple(Vec<Value>),
}

impl Value {
    pub fn word(self) -> Term {
        match self {
            Self::Word(word) => word,
            Self::Tuple(_) => panic!("no word: {self:?}"),
        }
    }
}

/// A function that the text calls, by its name and the last of its generic arguments, where that is a number.
type Callee<'a> = &'a dyn Fn(&str, Option<usize>, Vec<Value>) -> Value;

/// The values of names.
pub struct Scope<'a> {
    pub names: HashMap<String, Value>,
    pub callee: Callee<'a>,
}

impl Scope<'_> {
    /// Evaluates a function's text.
    pub fn run(&mut self, text: &str) -> Value {
        let function: ItemFn = syn::parse_str(text).expect("a function");
        self.block(&function.block)
    }

    fn block(&mut self, block: &Block) -> Value {
        for statement in &block.stmts {
            match statement {
                Stmt::Local(local) => {
                    let init = local.init.as_ref().expect("a value");
                    let value = self.value(&init.expr);
                    self.bind(&local.pat, value);
                }
                // An assertion, of the compiler's.
                Stmt::Expr(Expr::Const(_), _) => {}
                Stmt::Expr(value, None) => return self.value(value),
                other => panic!("{other:?} has no meaning here"),
            }
        }
        panic!("no value")
    }

    fn bind(&mut self, pattern: &Pat, value: Value) {
        match (pattern, value) {
            (Pat::Ident(name), value) => {
                self.names.insert(name.ident.to_string(), value);
            }
            (Pat::Tuple(patterns), Value::Tuple(values)) => {
                assert_eq!(patterns.elems.len(), values.len());
                for (pattern, value) in patterns.elems.iter().zip(values) {
                    self.bind(pattern, value);
                }
            }
            other => panic!("{other:?} has no meaning here"),
        }
    }

    fn word(&self, expression: &Expr) -> Term {
        self.value(expression).word()
    }

    fn value(&self, expression: &Expr) -> Value {
        Value::Word(match expression {
            Expr::Paren(inner) => return self.value(&inner.expr),
            Expr::Reference(inner) => return self.value(&inner.expr),
            Expr::Path(path) => return self.names[&name(&path.path)].clone(),
            // To a `u32`: the lower half.
            Expr::Cast(cast) => self.word(&cast.expr).extract(0, 32),
            Expr::Binary(binary) => match (&binary.op, self.word(&binary.left)) {
                (BinOp::Shr(_), x) => x.right(number(&binary.right)),
                (BinOp::Mul(_), x) => {
                    let factor = self.word(&binary.right).known().expect("a constant");
                    let exact = x.integer().times(factor);
                    require(exact.below(integer(1 << x.bits)));
                    x.times(factor)
                }
                (other, _) => panic!("{other:?} has no meaning here"),
            },
            Expr::MethodCall(call) => {
                let (x, y) = (self.word(&call.receiver), self.word(&call.args[0]));
                match call.method.to_string().as_str() {
                    "wrapping_add" => x.plus(y),
                    "wrapping_sub" => x.minus(y),
                    "wrapping_mul" => x.times(y.known().expect("a constant")),
                    "min" => x.below(y).choose(x, y),
                    other => panic!("{other} has no meaning here"),
                }
            }
            Expr::Call(call) => {
                let Expr::Path(callee) = &*call.func else {
                    panic!("{:?} has no name", call.func)
                };
                let arguments = call.args.iter().map(|argument| self.value(argument));
                let mut arguments: Vec<_> = arguments.collect();
                match name(&callee.path).as_str() {
                    "u64::from" => {
                        let x = arguments.remove(0).word();
                        (x.known()).map_or(x.unsigned(64), |x| Term::constant(x, 64))
                    }
                    other => return (self.callee)(other, last_argument(&callee.path), arguments),
                }
            }
            other => panic!("{other:?} has no meaning here"),
        })
    }
}

fn name(path: &syn::Path) -> String {
    let segments = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    segments.collect::<Vec<_>>().join("::")
}

fn number(expression: &Expr) -> u32 {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().expect("a number"),
            other => panic!("{other:?} is no number"),
        },
        other => panic!("{other:?} is no number"),
    }
}

fn last_argument(path: &syn::Path) -> Option<usize> {
    let PathArguments::AngleBracketed(arguments) = &path.segments.last()?.arguments else {
        return None;
    };
    match arguments.args.last()? {
        GenericArgument::Const(argument) => Some(number(argument) as usize),
        _ => None,
    }
}
