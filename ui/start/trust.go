package start

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/policy"
	"fumehood/session"
	"fumehood/ui/kit"
)

type trustedMsg struct{ Err error }

// waiting are the widenings that trust would bring into force.
func (m *Model) waiting() []policy.Widening {
	if !m.shown || m.err != nil || m.preview.Repository == nil {
		return nil
	}
	return m.preview.Repository.Waiting()
}

// asks says that the repository's own policy asks for more, and names some of it
// where h lines are left; the question names all.
func (m *Model) asks(w, h int) []string {
	ws := m.waiting()
	if len(ws) == 0 {
		return nil
	}
	st := m.ctx.Styles
	out := []string{kit.Cut("   "+st.Warn.Render("! The repository's own policy asks for more than yours gives: not in force"), w)}
	most := max(1, min(len(ws), h/7, 4))
	for _, x := range ws[:most] {
		out = append(out, "     "+kit.Cut(kit.Safe(fmt.Sprintf("%s: it wants %s, you give %s", x.Key, x.Want, x.Have)), max(1, w-7)))
	}
	if n := len(ws) - most; n > 0 {
		out = append(out, fmt.Sprintf("     and %s more", kit.Count(n)))
	}
	return append(out, "     "+st.Key.Render("t")+" shows what each would mean, and asks whether you trust it", "")
}

// askTrust is the question of "policy trust". Its yes does nothing before all
// of it was on the screen, nor to a key that was on its way when it appeared.
func (m *Model) askTrust() tea.Cmd {
	r := m.preview.Repository
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head: "trust the repository's own policy?", Lines: trustLines(r), Clock: m.ctx.Clock, Late: true, Each: true,
		Choices: []kit.Choice{
			{Key: "n", Label: "no: yours stays as it is"},
			{Key: "y", Label: "yes, trust all of this", Grave: true, Do: func() tea.Cmd { return m.trust(r) }},
		},
	}})
	return nil
}

// trustLines says what a yes would mean, in plain words.
func trustLines(r *session.RepositoryPolicy) []string {
	out := []string{kit.Safe(fmt.Sprintf("%s of %s asks for more than your policy %s gives. Whoever can write to the repository wrote it.", session.RepositoryPolicyFile, r.Repo, r.User.Name))}
	if r.Void != "" {
		out = append(out, kit.Safe("What you trusted before does not hold: "+r.Void+"."))
	}
	for _, x := range r.Waiting() {
		out = append(out, "", kit.Safe("+ "+x.Key), kit.Safe("    it wants   "+x.Want), kit.Safe("    you give   "+x.Have), kit.Safe("    it means   "+x.Why))
	}
	never := 0
	for _, x := range r.Widenings {
		if !x.Trustable {
			never++
		}
	}
	out = append(out, "")
	if never > 0 {
		out = append(out, fmt.Sprintf("%s that it asks for can't be trusted and is not in force either way.", kit.Plural(never, "thing")))
	}
	return append(out,
		"A yes holds for this content of the file in this folder, for every session from now on: when either changes it is void.", "\"fumehood policy trust --revoke\" takes it back.",
		kit.Safe("sha256 "+r.SHA256))
}

// trust records the yes and has the meaning of the choices worked out again;
// until that is on the screen nothing starts.
func (m *Model) trust(r *session.RepositoryPolicy) tea.Cmd {
	m.gen++ // what was asked before the yes is of no use
	m.shown, m.early = false, false
	b := m.backend
	return func() tea.Msg { return trustedMsg{b.TrustPolicy(r)} }
}

func (m *Model) trusted(msg trustedMsg) tea.Cmd {
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("nothing was trusted: %w", msg.Err))
	} else {
		m.ctx.Say("trusted: sessions that start from now on have it")
	}
	return m.ask()
}
