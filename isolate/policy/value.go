package policy

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// constraint is what a key demands of its value.
type constraint struct {
	words []string
	date  bool
	none  bool
	half  bool // the word "half" stands for half of the RAM
	cpus  bool // the words "all but one" stand for a number of processors
	host  host
}

// allButOne is what limits.cpus may say instead of a number.
const allButOne = "all but one"

// set puts a TOML value into the Go value behind a pointer. An empty msg is
// success; hint may be empty.
func (c constraint) set(at, value any) (msg, hint string) {
	switch at := at.(type) {
	case *string:
		if c.date {
			return setDate(at, value)
		}
		return c.setText(at, value)
	case *bool:
		b, ok := value.(bool)
		if !ok {
			return wrongType("true or false", value), ""
		}
		*at = b
	case *int:
		if c.cpus && value == allButOne {
			*at = max(c.host.CPUs-1, 1)
			return "", ""
		}
		n, msg := c.number(value, maxCount)
		*at = int(n)
		return msg, ""
	case *Bytes:
		return c.setBytes(at, value)
	case *time.Duration:
		return c.setDuration(at, value)
	case *[]string:
		list, msg := textList(value)
		*at = list
		return msg, ""
	case *Choice:
		return c.setChoice(at, value)
	default:
		panic(fmt.Sprintf("policy: no reader for %T", at)) // TestTemplateHasEveryKey reaches every type
	}
	return "", ""
}

func (c constraint) setText(at *string, value any) (msg, hint string) {
	s, ok := value.(string)
	if !ok {
		return wrongType("text in quotes", value), ""
	}
	if msg := badText(s); msg != "" {
		return msg, ""
	}
	if c.words != nil && !contains(c.words, s) {
		return fmt.Sprintf("unknown word %q", s), "one of " + quoteList(c.words)
	}
	*at = s
	return "", ""
}

func setDate(at *string, value any) (msg, hint string) {
	d, ok := value.(toml.LocalDate)
	if !ok {
		return wrongType("a date", value), "write it without quotes, as 2026-11-30"
	}
	*at = d.String()
	return "", ""
}

func (c constraint) number(value any, most int64) (int64, string) {
	switch v := value.(type) {
	case int64:
		if v < 0 {
			return 0, fmt.Sprintf("%d is below 0", v)
		}
		if v > most {
			return 0, fmt.Sprintf("%d is over the limit of %d", v, most)
		}
		return v, ""
	case string:
		if c.none && isNone(v) {
			return 0, ""
		}
	}
	return 0, wrongType(`a whole number or "none"`, value)
}

func (c constraint) setBytes(at *Bytes, value any) (msg, hint string) {
	const usage = `write a whole number and a unit, as "4GiB", "256MiB", "10KiB", "512B", or "none"`
	s, ok := value.(string)
	if !ok {
		n, msg := c.number(value, int64(maxBytes))
		*at = Bytes(n)
		if msg != "" {
			return wrongTypeOr(msg, "a size", value), usage
		}
		return "", ""
	}
	if c.half && s == "half" {
		if *at = c.host.RAM / 2 / (1 << 20) * (1 << 20); *at == 0 {
			return `"half": this machine's RAM could not be read`, "write a size"
		}
		return "", ""
	}
	b, err := ParseBytes(s)
	if err != nil {
		return err.Error(), usage
	}
	*at = b
	return "", ""
}

func (c constraint) setDuration(at *time.Duration, value any) (msg, hint string) {
	const usage = `write whole numbers and units, as "90s", "10m", "1h30m", "2d", or "never"`
	switch v := value.(type) {
	case string:
		d, err := ParseDuration(v)
		if err != nil {
			return err.Error(), usage
		}
		*at = d
		return "", ""
	case int64:
		if v == 0 {
			*at = 0
			return "", ""
		}
		return fmt.Sprintf("%d has no unit", v), usage
	}
	return wrongType("a duration", value), usage
}

func (c constraint) setChoice(at *Choice, value any) (msg, hint string) {
	if s, ok := value.(string); ok {
		if !contains(c.words, s) {
			return fmt.Sprintf("unknown word %q", s), "a list, or one of " + quoteList(c.words)
		}
		*at = Choice{Word: s}
		return "", ""
	}
	list, msg := textList(value)
	if msg != "" {
		return wrongTypeOr(msg, "a list or one of "+quoteList(c.words), value), ""
	}
	if len(list) == 0 {
		*at = Choice{Word: "none"}
		return "", ""
	}
	*at = Choice{List: list}
	return "", ""
}

// textList reads a list of texts; an empty one is nil.
func textList(value any) ([]string, string) {
	raw, ok := value.([]any)
	if !ok {
		return nil, wrongType("a list of texts", value)
	}
	if len(raw) > maxList {
		return nil, fmt.Sprintf("%d entries: over the limit of %d", len(raw), maxList)
	}
	var list []string
	for _, one := range raw {
		s, ok := one.(string)
		if !ok {
			return nil, "in the list: " + wrongType("text in quotes", one)
		}
		if msg := badText(s); msg != "" {
			return nil, "in the list: " + msg
		}
		list = append(list, s)
	}
	return list, ""
}

// badText refuses what would make the printed policy say something else than
// the file: control, format and bidi characters, and texts beyond any use.
func badText(s string) string {
	if len(s) > maxText {
		return fmt.Sprintf("a text of %d bytes: over the limit of %d", len(s), maxText)
	}
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) {
			return fmt.Sprintf("the character %U cannot be shown", r)
		}
	}
	return ""
}

func wrongType(want string, value any) string {
	return fmt.Sprintf("wants %s, not %s", want, typeName(value))
}

// wrongTypeOr keeps a message about the value and replaces one about its type.
func wrongTypeOr(msg, want string, value any) string {
	if strings.HasPrefix(msg, "wants ") {
		return wrongType(want, value)
	}
	return msg
}

// typeName says what a TOML value is, in the words of an engineer.
func typeName(value any) string {
	switch v := value.(type) {
	case string:
		if len(v) > 40 {
			return "text"
		}
		return fmt.Sprintf("the text %+q", v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		return "a number with a fraction"
	case bool:
		return fmt.Sprintf("%t", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(quoted, ", ")
}
