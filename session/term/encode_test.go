package term

import (
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
)

func TestKeyNumbersAreThoseOfTheWorkbench(t *testing.T) {
	for _, row := range []struct {
		name      string
		got, want rune
	}{
		{"up", KeyUp, uv.KeyUp},
		{"left", KeyLeft, uv.KeyLeft},
		{"insert", KeyInsert, uv.KeyInsert},
		{"end", KeyEnd, uv.KeyEnd},
		{"keypad enter", KeyKpEnter, uv.KeyKpEnter},
		{"keypad 9", KeyKp9, uv.KeyKp9},
		{"keypad begin", KeyKpBegin, uv.KeyKpBegin},
		{"F1", KeyF1, uv.KeyF1},
		{"F24", KeyF1 + 23, uv.KeyF24},
		{"backspace", KeyBackspace, uv.KeyBackspace},
		{"tab", KeyTab, uv.KeyTab},
		{"enter", KeyEnter, uv.KeyEnter},
		{"escape", KeyEscape, uv.KeyEscape},
		{"shift", ModShift, rune(uv.ModShift)},
		{"super", ModSuper, rune(uv.ModSuper)},
		{"scroll lock", ModScrollLock, rune(uv.ModScrollLock)},
		{"wheel down", MouseWheelDown, rune(uv.MouseWheelDown)},
		{"forward", MouseForward, rune(uv.MouseForward)},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %#x, want %#x", row.name, row.got, row.want)
		}
	}
}

func TestKeysAreEncodedForTheModesInForce(t *testing.T) {
	a := Key{Code: 'a', Text: "a"}
	for _, row := range []struct {
		name, modes string
		key         Key
		want        string
	}{
		{"letter", "", a, "a"},
		{"capital", "", Key{Code: 'a', Mod: ModShift, Text: "A"}, "A"},
		{"capital without text", "", Key{Code: 'a', Mod: ModShift}, "A"},
		{"caps lock is no modifier of ours", "", Key{Code: 'a', Mod: ModCapsLock, Text: "A"}, "A"},
		{"alt", "", Key{Code: 'a', Mod: ModAlt}, "\x1ba"},
		{"ctrl", "", Key{Code: 'a', Mod: ModCtrl}, "\x01"},
		{"ctrl alt", "", Key{Code: 'a', Mod: ModCtrl | ModAlt}, "\x1b\x01"},
		{"ctrl space", "", Key{Code: ' ', Mod: ModCtrl}, "\x00"},
		{"ctrl backslash", "", Key{Code: '\\', Mod: ModCtrl}, "\x1c"},
		{"ctrl slash", "", Key{Code: '/', Mod: ModCtrl}, "\x1f"},
		{"ctrl c, z, d, s", "", Key{Code: 'c', Mod: ModCtrl}, "\x03"},
		{"text of several characters", "", Key{Code: 0x110000, Text: "né漢"}, "né漢"},
		{"enter", "", Key{Code: KeyEnter}, "\r"},
		{"shift enter without a protocol", "", Key{Code: KeyEnter, Mod: ModShift}, "\r"},
		{"alt enter", "", Key{Code: KeyEnter, Mod: ModAlt}, "\x1b\r"},
		{"ctrl j in its place", "", Key{Code: 'j', Mod: ModCtrl}, "\n"},
		{"backspace", "", Key{Code: KeyBackspace}, "\x7f"},
		{"ctrl backspace", "", Key{Code: KeyBackspace, Mod: ModCtrl}, "\b"},
		{"backtab", "", Key{Code: KeyTab, Mod: ModShift}, "\x1b[Z"},
		{"escape", "", Key{Code: KeyEscape}, "\x1b"},
		{"up", "", Key{Code: KeyUp}, "\x1b[A"},
		{"up in application mode", "\x1b[?1h", Key{Code: KeyUp}, "\x1bOA"},
		{"ctrl shift left", "\x1b[?1h", Key{Code: KeyLeft, Mod: ModCtrl | ModShift}, "\x1b[1;6D"},
		{"home", "", Key{Code: KeyHome}, "\x1b[H"},
		{"page down", "", Key{Code: KeyPgDown}, "\x1b[6~"},
		{"alt delete", "", Key{Code: KeyDelete, Mod: ModAlt}, "\x1b[3;3~"},
		{"F1", "", Key{Code: KeyF1}, "\x1bOP"},
		{"shift F1", "", Key{Code: KeyF1, Mod: ModShift}, "\x1b[1;2P"},
		{"F5", "", Key{Code: KeyF1 + 4}, "\x1b[15~"},
		{"F12", "", Key{Code: KeyF1 + 11}, "\x1b[24~"},
		{"keypad", "", Key{Code: KeyKp0 + 7}, "7"},
		{"keypad in application mode", "\x1b=", Key{Code: KeyKp0 + 7}, "\x1bOw"},
		{"keypad arrow", "", Key{Code: KeyKpUp}, "\x1b[A"},
		{"a modifier alone", "", Key{Code: uv.KeyLeftShift}, ""},

		{"kitty letter", "\x1b[>1u", a, "a"},
		{"kitty shift enter", "\x1b[>1u", Key{Code: KeyEnter, Mod: ModShift}, "\x1b[13;2u"},
		{"kitty enter", "\x1b[>1u", Key{Code: KeyEnter}, "\r"},
		{"kitty escape", "\x1b[>1u", Key{Code: KeyEscape}, "\x1b[27u"},
		{"kitty ctrl i is not tab", "\x1b[>1u", Key{Code: 'i', Mod: ModCtrl}, "\x1b[105;5u"},
		{"kitty ctrl enter", "\x1b[>1u", Key{Code: KeyEnter, Mod: ModCtrl}, "\x1b[13;5u"},
		{"kitty alt enter", "\x1b[>7u", Key{Code: KeyEnter, Mod: ModAlt}, "\x1b[13;3u"},
		{"kitty all keys", "\x1b[>9u", a, "\x1b[97u"},
		{"kitty all keys with text", "\x1b[>25u", Key{Code: 'a', Mod: ModShift, Text: "A"}, "\x1b[97;2;65u"},
		{"kitty F1", "\x1b[>1u", Key{Code: KeyF1}, "\x1b[P"},
		{"kitty popped", "\x1b[>1u\x1b[<u", Key{Code: KeyEnter, Mod: ModShift}, "\r"},
		{"kitty of the other screen", "\x1b[>1u\x1b[?1049h", Key{Code: KeyEnter, Mod: ModShift}, "\r"},

		{"modifyOtherKeys shift enter", "\x1b[>4;1m", Key{Code: KeyEnter, Mod: ModShift}, "\x1b[27;2;13~"},
		{"modifyOtherKeys 1 ctrl a", "\x1b[>4;1m", Key{Code: 'a', Mod: ModCtrl}, "\x01"},
		{"modifyOtherKeys 2 ctrl a", "\x1b[>4;2m", Key{Code: 'a', Mod: ModCtrl}, "\x1b[27;5;97~"},
		{"modifyOtherKeys 2 capital", "\x1b[>4;2m", Key{Code: 'a', Mod: ModShift, Text: "A"}, "A"},
		{"modifyOtherKeys off", "\x1b[>4;2m\x1b[>4m", Key{Code: 'a', Mod: ModCtrl}, "\x01"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := string(fed(80, 24, row.modes).Key(row.key)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestMouseIsEncodedForTheModesInForce(t *testing.T) {
	press := Mouse{Button: MouseLeft, X: 4, Y: 2}
	release := Mouse{Kind: MouseRelease, Button: MouseLeft, X: 4, Y: 2}
	drag := Mouse{Kind: MouseMotion, Button: MouseLeft, X: 5, Y: 2}
	hover := Mouse{Kind: MouseMotion, X: 5, Y: 2}
	wheel := Mouse{Button: MouseWheelUp, X: 4, Y: 2}
	for _, row := range []struct {
		name, modes string
		m           Mouse
		want        string
	}{
		{"not asked for", "", press, ""},
		{"plain", "\x1b[?1000h", press, "\x1b[M %#"},
		{"plain release", "\x1b[?1000h", release, "\x1b[M#%#"},
		{"plain, too far right", "\x1b[?1000h", Mouse{Button: MouseLeft, X: 230, Y: 2}, ""},
		{"SGR", "\x1b[?1000h\x1b[?1006h", press, "\x1b[<0;5;3M"},
		{"SGR release", "\x1b[?1000h\x1b[?1006h", release, "\x1b[<0;5;3m"},
		{"SGR with ctrl", "\x1b[?1000h\x1b[?1006h", Mouse{Button: MouseRight, X: 4, Y: 2, Mod: ModCtrl}, "\x1b[<18;5;3M"},
		{"no drag with 1000", "\x1b[?1000h\x1b[?1006h", drag, ""},
		{"drag with 1002", "\x1b[?1002h\x1b[?1006h", drag, "\x1b[<32;6;3M"},
		{"no hover with 1002", "\x1b[?1002h\x1b[?1006h", hover, ""},
		{"hover with 1003", "\x1b[?1003h\x1b[?1006h", hover, "\x1b[<35;6;3M"},
		{"wheel", "\x1b[?1000h\x1b[?1006h", wheel, "\x1b[<64;5;3M"},
		{"wheel in a pager", "\x1b[?1049h\x1b[?1h", wheel, "\x1bOA\x1bOA\x1bOA"},
		{"wheel in a pager that does not want it", "\x1b[?1049h\x1b[?1007l", wheel, ""},
		{"wheel at a prompt", "", wheel, ""},
		{"urxvt", "\x1b[?1000h\x1b[?1015h", press, "\x1b[32;5;3M"},
		{"off the screen", "\x1b[?1000h\x1b[?1006h", Mouse{Button: MouseLeft, X: 300, Y: 2}, ""},
		{"turned off", "\x1b[?1003h\x1b[?1003l", press, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := string(fed(250, 24, row.modes).Mouse(row.m)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestFocusIsToldOnlyWhenAskedFor(t *testing.T) {
	if got := fed(80, 24, "").Focus(true); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
	s := fed(80, 24, "\x1b[?1004h")
	if got := string(s.Focus(true)) + string(s.Focus(false)); got != "\x1b[I\x1b[O" {
		t.Errorf("got %q, want both", got)
	}
}
