#!/usr/bin/env bash
# Installs Chromium, in which the tests look at a report's page, where there is no browser of its kind and Debian has it.
# Ubuntu's package of that name is an empty one that asks for a snap. Without a browser the tests skip the page by name.
set -euo pipefail

for browser in chromium chromium-browser google-chrome; do
  if command -v "$browser" >/dev/null; then exit; fi
done
if grep --quiet --no-messages '^ID=debian$' /etc/os-release; then
  "$(dirname "$0")/apt.sh" chromium
else
  echo "browser.sh: no Chromium, and this is not Debian" >&2
fi
