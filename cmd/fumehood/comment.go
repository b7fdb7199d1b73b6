package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/store"
)

func commentCommand() *cobra.Command {
	var body, drop string
	var list, send, asJSON bool
	c := &cobra.Command{
		Use:   "comment [ID] [PATH[:LINE]]",
		Short: "Comment on a changed file or line, and send comments to the agent",
		Long: "Records a comment (-m) on a line of a changed file, on the file, or without PATH on the whole change set.\n" +
			"--send hands all comments that were not sent yet to the agent as one message: typed into its terminal once it\n" +
			"says that it waits, else kept until then, or until the next resume. Only a session at a terminal takes one.\n\n" +
			"With -m, one argument alone is a PATH unless it is the whole name or ID of a session.",
		Example: "fumehood comment src/open.go:42 -m 'take the lock first'\nfumehood comment --send\nfumehood comment calm-1 --list",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := countTrue(list, drop != "", cmd.Flags().Changed("message")); n > 1 || n == 0 && !send || send && (list || drop != "") {
				return errors.New("choose one of -m TEXT, --list, --delete and --send; -m and --send go together")
			}
			h, d, place, err := commented(cmd, args)
			if err != nil {
				return err
			}
			if place != "" && !cmd.Flags().Changed("message") {
				return fmt.Errorf("%s: -m says what to comment", diffreview.SafeName(place))
			}
			w := cmd.OutOrStdout()
			switch {
			case list:
				return printComments(w, h, d, asJSON)
			case drop != "":
				return dropComment(w, h, d, drop)
			}
			out := commentJSON{Session: d.ID()}
			if cmd.Flags().Changed("message") {
				c, err := h.CommentAt(cmd.Context(), d, place, body)
				if err != nil {
					return err
				}
				out.Comment = c.ID
				if !asJSON {
					fmt.Fprintf(w, "%s on %s\n", c.ID, whereOf(c))
				}
			}
			if send {
				sent, err := h.SendComments(cmd.Context(), d, "")
				if err != nil {
					return err
				}
				out.Sent = &sentJSON{sent.Comments, sent.More, sent.How, sent.Text}
				if !asJSON {
					printSent(w, sent)
				}
			}
			if asJSON {
				return printJSON(w, out)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&body, "message", "m", "", "the comment")
	c.Flags().BoolVarP(&list, "list", "l", false, "list the comments, and which were sent")
	c.Flags().BoolVar(&send, "send", false, "hand what was not sent yet to the agent")
	c.Flags().StringVar(&drop, "delete", "", "take the comment with this ID back")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// commentJSON is what comment -m and --send print.
type commentJSON struct {
	Session string    `json:"session"`
	Comment string    `json:"comment,omitempty"`
	Sent    *sentJSON `json:"sent,omitempty"`
}

type sentJSON struct {
	Comments int    `json:"comments"`
	More     int    `json:"more"`
	How      string `json:"how"`
	Text     string `json:"text"`
}

// commented is the session and the place that args name. With a message, one
// argument is a place unless it is the whole name or ID of a session: a file may
// be named as an ID begins.
func commented(cmd *cobra.Command, args []string) (*session.Host, store.Dir, string, error) {
	if len(args) == 2 {
		h, d, err := openSession(cmd, args[:1])
		return h, d, args[1], err
	}
	h, d, err := openSession(cmd, args)
	if len(args) == 0 || !cmd.Flags().Changed("message") {
		return h, d, "", err
	}
	if h == nil {
		return nil, "", "", err
	}
	if err == nil {
		rec, err := d.LoadRecord()
		if err != nil || d.ID() == args[0] || rec.Name == args[0] {
			return h, d, "", err
		}
	}
	d, err = sessionOf(cmd, h, nil)
	return h, d, args[0], err
}

func whereOf(c diffreview.Comment) string {
	switch {
	case c.Path == "":
		return "the whole change set"
	case c.Line > 0:
		return fmt.Sprintf("%s:%d", diffreview.SafeName(c.Path), c.Line)
	case c.OldLine > 0:
		return fmt.Sprintf("%s, old line %d", diffreview.SafeName(c.Path), c.OldLine)
	}
	return diffreview.SafeName(c.Path)
}

func printSent(w io.Writer, s session.Sent) {
	fmt.Fprintf(w, "%s %s\n", plural(s.Comments, "comment"), s.How)
	if s.More > 0 {
		fmt.Fprintf(w, "%s did not fit; they follow in a message of their own\n", plural(s.More, "comment"))
	}
	if s.How == session.KeptResume {
		fmt.Fprintln(w, "a session at a terminal takes them once its agent waits: \"fumehood resume ID\"")
	}
}

// listedJSON is a comment as --list --json prints it.
type listedJSON struct {
	diffreview.Comment
	PathB64 []byte `json:"path_b64,omitempty"`
}

func printComments(w io.Writer, h *session.Host, d store.Dir, asJSON bool) error {
	all, err := h.Comments(d)
	if err != nil {
		return err
	}
	if asJSON {
		out := []listedJSON{}
		for _, c := range all {
			j := listedJSON{Comment: c}
			if !utf8.ValidString(c.Path) {
				j.PathB64, j.Path = []byte(c.Path), strings.ToValidUTF8(c.Path, "\ufffd")
			}
			out = append(out, j)
		}
		return printJSON(w, out)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "no comments")
	}
	for _, c := range all {
		state := "not sent"
		if !c.Sent.IsZero() {
			state = "sent " + c.Sent.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s  %s  (%s, %s)\n", c.ID, whereOf(c), visible(c.By), state)
		if c.Quote != "" {
			fmt.Fprintf(w, "  > %s\n", visible(c.Quote))
		}
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(visible(c.Body), "\n", "\n  "))
	}
	return nil
}

func dropComment(w io.Writer, h *session.Host, d store.Dir, id string) error {
	all, err := h.Comments(d)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID != id {
			continue
		}
		c.Body = ""
		if _, err := h.Comment(d, c); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s taken back\n", id)
		return nil
	}
	return fmt.Errorf("no comment has the ID %q; --list lists them", id)
}
