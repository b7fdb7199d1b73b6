package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type unit struct {
	name string
	size int64
}

// The largest unit comes first: printing takes the first that fits.
func byteUnits() []unit {
	return []unit{
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"kB", 1e3},
		{"B", 1},
	}
}

func timeUnits() []unit {
	return []unit{
		{"d", int64(24 * time.Hour)},
		{"h", int64(time.Hour)},
		{"m", int64(time.Minute)},
		{"s", int64(time.Second)},
		{"ms", int64(time.Millisecond)},
	}
}

// isNone tells the words for "no limit".
func isNone(s string) bool { return s == "none" || s == "never" || s == "0" }

// ParseBytes reads a size such as "4GiB", "500MB" or "512B"; "0", "none" and
// "never" are 0. At most 1 PiB.
func ParseBytes(s string) (Bytes, error) {
	if isNone(s) {
		return 0, nil
	}
	n, name, ok := cutNumber(s)
	if !ok {
		return 0, fmt.Errorf("bad size %q", s)
	}
	for _, u := range byteUnits() {
		if u.name != name {
			continue
		}
		if n > int64(maxBytes)/u.size {
			return 0, fmt.Errorf("size %q is over 1024TiB", s)
		}
		return Bytes(n * u.size), nil
	}
	return 0, fmt.Errorf("bad size %q", s)
}

// ParseDuration reads a duration such as "10m", "1h30m" or "500ms", largest
// unit first, each at most once; "0", "none" and "never" are 0. At most ten
// years.
func ParseDuration(s string) (time.Duration, error) {
	if isNone(s) {
		return 0, nil
	}
	var sum int64
	rest, units := s, timeUnits()
	for rest != "" {
		n, after, ok := cutNumber(rest)
		if !ok {
			return 0, fmt.Errorf("bad duration %q", s)
		}
		i := unitPrefix(units, after)
		if i < 0 {
			return 0, fmt.Errorf("bad duration %q", s)
		}
		u := units[i]
		if n > int64(maxTime)/u.size {
			return 0, fmt.Errorf("duration %q is over 3650d", s)
		}
		if sum += n * u.size; sum > int64(maxTime) {
			return 0, fmt.Errorf("duration %q is over 3650d", s)
		}
		rest, units = after[len(u.name):], units[i+1:]
	}
	if s == "" {
		return 0, fmt.Errorf("bad duration %q", s)
	}
	return time.Duration(sum), nil
}

// unitPrefix finds the unit that s begins with: letters up to the next digit,
// so that "ms" is not read as "m".
func unitPrefix(units []unit, s string) int {
	end := 0
	for end < len(s) && (s[end] < '0' || s[end] > '9') {
		end++
	}
	for i, u := range units {
		if u.name == s[:end] {
			return i
		}
	}
	return -1
}

// cutNumber splits "10m" into 10 and "m". No sign, no fraction, no space.
func cutNumber(s string) (int64, string, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	return n, s[end:], err == nil
}

// String prints a size exactly, in the largest binary unit that divides it; 0
// is "none".
func (b Bytes) String() string {
	if b == 0 {
		return "none"
	}
	for _, u := range byteUnits()[:4] {
		if int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// FormatDuration prints a duration as ParseDuration reads it; 0 is "never".
// What is finer than a millisecond is rounded up, so that it never becomes
// "no limit".
func FormatDuration(d time.Duration) string {
	if d <= 0 {
		return "never"
	}
	rest := (int64(d) + int64(time.Millisecond) - 1) / int64(time.Millisecond) * int64(time.Millisecond)
	var out strings.Builder
	for _, u := range timeUnits() {
		if n := rest / u.size; n > 0 {
			out.WriteString(strconv.FormatInt(n, 10) + u.name)
			rest %= u.size
		}
	}
	return out.String()
}
