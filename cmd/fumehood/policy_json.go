package main

import (
	"errors"

	"fumehood/isolate/policy"
	"fumehood/session"
)

// policyJSON is a policy, and what the repository's own has to do with it.
type policyJSON struct {
	Name       string          `json:"name"`
	Hash       string          `json:"hash"`
	Policy     map[string]any  `json:"policy"`
	Verified   []lineJSON      `json:"verified"`
	Repository *repositoryJSON `json:"repository"`
}

type lineJSON struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

type repositoryJSON struct {
	File     string         `json:"file"`
	SHA256   string         `json:"sha256"`
	Narrowed []string       `json:"narrowed"`
	Asks     []wideningJSON `json:"asks"`
	Void     string         `json:"void"`
}

type wideningJSON struct {
	Key       string `json:"key"`
	Have      string `json:"have"`
	Want      string `json:"want"`
	Why       string `json:"why"`
	Trustable bool   `json:"trustable"`
	InForce   bool   `json:"in_force"`
}

func repositoryOf(own *session.RepositoryPolicy) *repositoryJSON {
	if own == nil {
		return nil
	}
	out := &repositoryJSON{
		File: session.RepositoryPolicyFile, SHA256: own.SHA256, Narrowed: append([]string{}, own.Narrowed...), Asks: []wideningJSON{}, Void: own.Void,
	}
	for _, w := range own.Widenings {
		out.Asks = append(out.Asks, wideningJSON{w.Key, w.Have, w.Want, w.Why, w.Trustable, w.InForce})
	}
	return out
}

func linesOf(lines []policy.Line) []lineJSON {
	out := []lineJSON{}
	for _, l := range lines {
		out = append(out, lineJSON{l.Label, l.Text})
	}
	return out
}

// checkedJSON is what a check came to.
type checkedJSON struct {
	OK         bool            `json:"ok"`
	Name       string          `json:"name,omitempty"`
	Hash       string          `json:"hash,omitempty"`
	Repository *repositoryJSON `json:"repository"`
	Error      string          `json:"error,omitempty"`
	Faults     []faultJSON     `json:"faults"`
}

type faultJSON struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key,omitempty"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// checked turns what a check gave into JSON. err is its error, if it has one.
func checked(p *policy.Policy, own *session.RepositoryPolicy, err error) checkedJSON {
	out := checkedJSON{OK: err == nil, Faults: []faultJSON{}}
	if err == nil {
		out.Name, out.Hash, out.Repository = p.Name, policy.Hash(p), repositoryOf(own)
		return out
	}
	out.Error = err.Error()
	var all policy.Errors
	if one := new(policy.Error); !errors.As(err, &all) && errors.As(err, &one) {
		all = policy.Errors{one}
	}
	for _, e := range all {
		out.Faults = append(out.Faults, faultJSON{e.File, e.Line, e.Col, e.Key, e.Msg, e.Hint})
	}
	return out
}
