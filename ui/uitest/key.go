package uitest

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

var special = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "delete": tea.KeyDelete,
}

// Key makes a key press of its name, such as "j", "A", "ctrl+d", "space".
func Key(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	for {
		switch {
		case strings.HasPrefix(name, "ctrl+") && len(name) > 5:
			k.Mod |= tea.ModCtrl
			name = name[5:]
			continue
		case strings.HasPrefix(name, "alt+") && len(name) > 4:
			k.Mod |= tea.ModAlt
			name = name[4:]
			continue
		case strings.HasPrefix(name, "shift+") && len(name) > 6:
			k.Mod |= tea.ModShift
			name = name[6:]
			continue
		}
		break
	}
	if r, ok := special[name]; ok {
		k.Code = r
		return k
	}
	if name == "space" {
		k.Code, k.Text = tea.KeySpace, " "
		return k
	}
	if k.Mod == tea.ModAlt && len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' {
		k.Code, k.Mod = rune(name[0]+32), tea.ModAlt|tea.ModShift // as a terminal without the newer protocols is read
		return k
	}
	k.Code, _ = utf8.DecodeRuneInString(name)
	if k.Mod == 0 {
		k.Text = name
		if len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' {
			k.Code, k.ShiftedCode, k.Mod = rune(name[0]+32), rune(name[0]), tea.ModShift
		}
	}
	return k
}
