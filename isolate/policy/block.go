package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// blockWidth is the widest line of the text block, in columns: it fits a
// terminal of 80 with a border.
const blockWidth = 78

// Block prints a policy as plain text for a person, section by section: what
// each wall is, and whether the kernel enforces it, fumehood's supervisor
// samples it, or it is not in force. ASCII only, lines of at most 78 columns.
// now is today, for the age of the last review. verified is what is known of
// the wall tests with this policy; without a line nothing is. What Check
// refuses is listed at the end, since nothing starts with such a policy.
func Block(p *Policy, now time.Time, verified []Line) string {
	b := &block{}
	b.head(p, now)
	b.boundary(p.Boundary)
	b.filesystem(p.Filesystem)
	b.network(p.Network)
	b.credentials(p)
	b.limits(p.Limits)
	b.results(p.Results, p.Terminal)
	b.lifecycle(p)
	b.verified(verified)
	b.refused(faultsOf(p))
	return b.String()
}

// Line is a row of the text block: a label and what it says.
type Line struct{ Label, Text string }

func (b *block) verified(lines []Line) {
	b.section("Verified")
	if len(lines) == 0 {
		b.row("wall tests", "no wall-test record: not yet proven")
	}
	for _, l := range lines {
		b.row(l.Label, l.Text)
	}
}

func (b *block) head(p *Policy, now time.Time) {
	b.line("Policy " + orNone(p.Name, "(no name)"))
	b.line("sha256 " + Hash(p))
	b.row("tool", orNone(p.Tool, "not stated"))
	b.row("owner", orNone(p.Owner, "not stated"))
	b.row("reviewed", reviewed(p.Reviewed, now))
	b.row("tenant", orNone(p.Tenant, "the account's name"))
}

func reviewed(date string, now time.Time) string {
	if date == "" {
		return "no date stated"
	}
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date + " (not a date)"
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch days := int(today.Sub(day).Hours() / 24); {
	case days < 0:
		return date + " (a day that is yet to come)"
	case days == 0:
		return date + " (today)"
	case days == 1:
		return date + " (yesterday)"
	default:
		return fmt.Sprintf("%s (%d days ago)", date, days)
	}
}

func (b *block) boundary(v Boundary) {
	b.section("Boundary")
	made := "Linux namespaces, Landlock and seccomp, with no_new_privs and no capabilities; the kernel itself is trusted"
	if v.EnforcedBy != "process restriction" {
		made = "NOT IN FORCE: not built"
	}
	b.row("enforced by", orNone(v.EnforcedBy, "nothing")+": "+made)
	b.row("our own code", "the stage, which closes the layers, and the supervisor outside are on the trust path")
	b.row("required", orNone(listText(v.Require), "nothing named")+"; every layer is closed in any case")
	b.row("otherwise", "if a layer cannot be set up: refuses to run, exit status 125")
	b.row("proven", orNone(v.Proven, "not stated")+provenMeans(v.Proven))
	if v.Debuggers {
		b.row("debuggers", "allowed: NOT IN FORCE: not built")
	} else {
		b.row("debuggers", "none: ptrace is refused by the kernel (seccomp)")
	}
}

func provenMeans(word string) string {
	switch word {
	case ProvenShown:
		return ": a start says whether the wall tests held here, and goes on in any case"
	case ProvenRequired:
		return ": nothing starts unless all wall tests held with this policy in this shape"
	}
	return ": no meaning"
}

func (b *block) filesystem(v Filesystem) {
	b.section("Filesystem")
	b.row("workspace", "a copy of the repository: tracked files, and new ones that git does not ignore; enforced by the kernel (mounts, then Landlock)")
	b.row("write", "the copy, a home of its own, private /tmp; the host changes only by apply")
	b.row("include", includeMeans(v.Include)+"; of what git ignores nothing else comes in")
	b.row("exclude", orNone(listText(v.Exclude), "nothing named")+"; new files that look like secrets stay out, and are listed")
	b.row("history", orNone(v.History, "not stated")+historyMeans(v.History))
	b.row("inputs", orNone(listText(v.Inputs), "none")+"; read-only inside")
	b.row("toolchains", orNone(v.Toolchains.text(), "none")+toolchainsMean(v.Toolchains))
}

func historyMeans(word string) string {
	switch word {
	case "head":
		return ": git objects that HEAD reaches"
	case "all":
		return ": all git objects: other branches, stashes and dropped commits too"
	case "none":
		return ": no git objects"
	}
	return ": no meaning"
}

func includeMeans(c Choice) string {
	if c.Word == "auto" {
		return "auto: folders that package managers fill, such as node_modules, .venv and vendor"
	}
	return orNone(c.text(), "none")
}

func toolchainsMean(c Choice) string {
	switch {
	case len(c.List) > 0:
		return "; read-only inside"
	case c.Word == "auto":
		return ": known managers' sub-folders that PATH points at, read-only; listed before the start"
	}
	return "; only the system's own"
}

func (b *block) limits(v Limits) {
	const off = "NOT IN FORCE: "
	b.section("Limits")
	b.row("cpus", pick(v.CPUs == 0, "none: "+off+"processors are not bounded",
		count(v.CPUs)+": enforced by the kernel (affinity, and cpu.max where there is a cgroup of the account's own); all of them where there are no more"))
	b.row("memory", pick(v.Memory == 0, "none: "+off+"memory is not bounded",
		v.Memory.String()+": each process by the kernel; the total too where there is a cgroup of the account's own, else the total is sampled every 250 ms, every 25 ms near the limit, every 2 s while nothing inside works, and can overshoot by what is allocated in between (memory behind descriptors on their way through a socket is not counted then)"))
	b.row("processes", pick(v.Processes == 0, "none: "+off+"only the host's own limit holds",
		count(v.Processes)+", threads counted: enforced by the kernel"))
	b.row("disk", pick(v.Disk == 0, "none: "+off+"disk is not bounded",
		v.Disk.String()+" for workspace and home: one file by the kernel; the total is sampled every 50 ms, every 2 s while nothing inside works, and can overshoot by what is written until the walk that follows"))
	b.row("run time", clock(v.RunTime, "one captured run or exec"))
	b.row("session time", clock(v.SessionTime, "the whole session"))
	b.row("output", pick(v.OutputChars == 0, "returned whole", "the first and last part of each stream returned, "+count(v.OutputChars)+" characters; the cut is announced"))
	b.row("output log", pick(v.OutputBytes == 0, "stored whole: "+off+"the log is not bounded", v.OutputBytes.String()+" stored: the head kept, the tail in a ring"))
}

func clock(d time.Duration, what string) string {
	if d <= 0 {
		return "never: NOT IN FORCE: " + what + " has no end of its own"
	}
	return FormatDuration(d) + " for " + what + ": by the supervisor's clock, outside"
}

func (b *block) results(v Results, t Terminal) {
	b.section("Results")
	switch v.Leave {
	case "diff":
		b.row("leave", "diff: only what was approved, by apply; nothing from inside is executed outside")
	default:
		b.row("leave", orNone(v.Leave, "not stated")+": NOT IN FORCE: not built")
	}
	b.row("artifacts", pick(len(v.Artifacts) == 0, "none", listText(v.Artifacts)+": NOT IN FORCE: not built"))
	b.row("review", orNone(v.Review, "not stated"))
	b.row("clipboard", clipboardText(t.Clipboard))
}

func clipboardText(word string) string {
	switch word {
	case "deny":
		return "deny: neither read nor written from inside"
	case "ask":
		return "ask: written when you say so in the workbench, each time; refused elsewhere; never read"
	case "allow":
		return "allow: written from inside, up to 100KiB of text without control characters; never read"
	}
	return orNone(word, "not stated") + ": NOT IN FORCE: unknown"
}

func (b *block) lifecycle(p *Policy) {
	b.section("Lifecycle")
	b.row("idle", pick(p.Lifecycle.Idle <= 0, "never: NOT IN FORCE: silence does not end a session",
		"ended after "+FormatDuration(p.Lifecycle.Idle)+" without output or input, by the supervisor"))
	b.row("at the end", "all processes of the session are gone; a killed supervisor takes them along")
	b.row("kept", orNone(listText(p.Lifecycle.Keep), "nothing named")+"; the workspace too, until the session is removed")
}

func (b *block) refused(faults []*Error) {
	if len(faults) == 0 {
		return
	}
	b.section("Refused: nothing starts with this policy")
	for _, e := range faults {
		b.row(e.Key, e.Msg)
	}
}

// text prints a choice as its word or its list.
func (c Choice) text() string {
	if len(c.List) > 0 {
		return listText(c.List)
	}
	return c.Word
}

// listText prints a list; what could be read as two entries is quoted.
func listText(list []string) string {
	shown := make([]string, len(list))
	for i, s := range list {
		if shown[i] = s; s == "" || strings.ContainsAny(s, " ,;\"") {
			shown[i] = strconv.Quote(s)
		}
	}
	return strings.Join(shown, ", ")
}

// block collects lines.
type block struct{ strings.Builder }

func (b *block) section(title string) { b.line(""); b.line(title) }

const labelWidth = 13

// row prints a label and a text, wrapped under itself.
func (b *block) row(label, text string) {
	indent := "  " + strings.Repeat(" ", labelWidth)
	first := fmt.Sprintf("  %-*s", labelWidth, ascii(label))
	if len(first) > len(indent) || !strings.HasSuffix(first, " ") {
		b.line(first)
		first = indent
	}
	for _, part := range wrap(ascii(text), blockWidth-len(indent)) {
		b.put(first + part)
		first = indent
	}
}

func (b *block) line(text string) {
	for _, part := range wrap(ascii(text), blockWidth) {
		b.put(part)
	}
}

func (b *block) put(line string) { b.WriteString(strings.TrimRight(line, " ") + "\n") }

// wrap cuts at spaces, and within a word only when it is wider than a line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for len(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, word[:width]), word[width:]
		}
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// ascii makes what is not ASCII visible as an escape, so that a text from a
// file cannot pass for something else, or act on a terminal.
func ascii(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		clean = clean && s[i] >= ' ' && s[i] < 0x7f
	}
	if clean {
		return s
	}
	q := strconv.QuoteToASCII(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

func orNone(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

func count(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
