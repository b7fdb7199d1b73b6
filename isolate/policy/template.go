package policy

import (
	"fmt"
	"strings"
)

// Template is the file that "policy init" writes: every key with its meaning,
// unit and default; entries, of which the default has none, as commented
// examples. It parses to the built-in default.
func Template() []byte { return TemplateOf(defaults(thisHost())) }

// TemplateOf is Template with the values and entries of another policy.
func TemplateOf(p *Policy) []byte {
	usual := defaults(thisHost())
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
		// Not this machine's numbers: the file may travel.
		case f.table == "limits" && f.key == "memory" && p.Limits.Memory == usual.Limits.Memory:
			value = `"half"`
		case f.table == "limits" && f.key == "cpus" && p.Limits.CPUs == usual.Limits.CPUs:
			value = `"` + allButOne + `"`
		case !ok:
			fmt.Fprintf(&b, "# %s = 2026-11-30\n\n", f.key)
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n\n", f.key, templateValue(value))
	}
	b.WriteString(`# No entry: no network at all. Each entry is one thing that may leave, through
# the egress proxy, which checks destination, operation and account. Remove the
# "# " before the keys of an entry to have it; repeat it for more.
#
`)
	templateEntry(&b, allowFields())
	for i := range p.Network.Allow {
		encodeEntry(&b, allowFields(), &p.Network.Allow[i])
	}
	b.WriteString(`
# A credential is held outside; an entry above names it as its account.
#
`)
	templateEntry(&b, credentialFields())
	for i := range p.Credentials {
		encodeEntry(&b, credentialFields(), &p.Credentials[i])
	}
	return []byte(b.String())
}

// templateValue writes "no limit" of a count as the word that the texts use.
func templateValue(value string) string {
	if value == "0" {
		return `"none"`
	}
	return value
}

// templateEntry prints an entry of a list of tables as a comment: it is an
// example, and the default has none.
func templateEntry[T any](b *strings.Builder, known []field[T]) {
	fmt.Fprintf(b, "# [[%s]]\n", known[0].table)
	for _, f := range known {
		for _, line := range f.doc {
			fmt.Fprintf(b, "#   %s\n", line)
		}
		fmt.Fprintf(b, "# %s = %s\n", f.key, f.eg)
	}
}
