package policy

import (
	"fmt"
	"strings"
)

// Template is the file that "policy init" writes: every key with its meaning,
// unit and default, and commented out those that are refused so far. It parses
// to the built-in default.
func Template() []byte {
	p := defaults(thisHost())
	var b strings.Builder
	b.WriteString(`# A fumehood policy: what each wall must be. Strict: an unknown key is an error.
# A key that is left out has the value shown here. Sizes: "512B", "10KiB",
# "256MiB", "4GiB". Durations: "500ms", "90s", "10m", "1h30m", "2d". 0, "none"
# and "never" mean no limit. Check it with: fumehood policy check FILE

`)
	table := ""
	for _, f := range fields() {
		if f.table != table {
			table = f.table
			fmt.Fprintf(&b, "[%s]\n", table)
		}
		for _, line := range f.doc {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		value, ok := encodeValue(f.at(p), f.date)
		switch {
		case f.table == "limits" && f.key == "memory":
			value = `"half"` // not this machine's number: the file may travel
		case !ok:
			fmt.Fprintf(&b, "# %s = 2026-11-30\n\n", f.key)
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n\n", f.key, templateValue(value))
	}
	b.WriteString(templateTail)
	return []byte(b.String())
}

// templateValue writes "no limit" of a count as the word that the texts use.
func templateValue(value string) string {
	if value == "0" {
		return `"none"`
	}
	return value
}

// templateTail shows the entries that are refused until the egress proxy is
// built, so that the file has every key.
const templateTail = `# Refused so far (the egress proxy is not built): a session has no network and
# no credentials at all. The keys are listed for completeness.
#
# [[network.allow]]
# destination         = "packages.example.test:443"  # host or *.suffix
# operations          = ["GET /**", "HEAD /**"]      # method and path
# query               = "any"                        # or "none", or a pattern
# account             = "none"                       # or a credential's name
# upgrade             = false                        # websockets
# max_upload          = "10MiB"                      # per session; "none"
# requests_per_minute = 600                          # "none"
#
# [[credentials]]
# name               = "packages-read"
# source             = "env:PACKAGES_TOKEN"
# attach             = "Authorization: Bearer {secret}"
# placeholder        = "env:PACKAGES_TOKEN"
# placeholder_format = "pk_{random:40}"
`
