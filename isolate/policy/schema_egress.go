package policy

// allowFields lists the keys of one [[network.allow]] entry.
func allowFields() []field[Allow] {
	const t = "network.allow"
	return []field[Allow]{
		{
			table: t, key: "destination", at: func(a *Allow) any { return &a.Destination }, eg: `"packages.example.test:443"`,
			doc: []string{`Host and port: exact, or "*.example.test:443" for every name below it.`},
		},
		{
			table: t, key: "operations", at: func(a *Allow) any { return &a.Operations }, eg: `["GET /**", "HEAD /**"]`,
			doc: []string{
				"Methods and path patterns, the path without its query: * is any run",
				`within a segment, ** any run. "git fetch /team/*" and "git push /team/x"`,
				`are all that git needs for it. ["CONNECT"] alone is an opaque tunnel:`,
				"anything may be sent there, to any account.",
			},
		},
		{
			table: t, key: "query", at: func(a *Allow) any { return &a.Query }, eg: `"any"`,
			doc: []string{`The query of a request: "any", "none", or a pattern that it must match.`},
		},
		{
			table: t, key: "account", at: func(a *Allow) any { return &a.Account }, eg: `"packages-read"`,
			doc: []string{`A [[credentials]] entry by name, or "none". Any other credential in a`, "request is refused."},
		},
		{
			table: t, key: "upgrade", at: func(a *Allow) any { return &a.Upgrade }, eg: "false",
			doc: []string{"Whether a request may become a websocket."},
		},
		{
			table: t, key: "max_upload", at: func(a *Allow) any { return &a.MaxUpload }, none: true, eg: `"10MiB"`,
			doc: []string{"Bytes of request bodies in a session."},
		},
		{
			table: t, key: "requests_per_minute", at: func(a *Allow) any { return &a.PerMinute }, none: true, eg: "600",
			doc: []string{"Requests in any minute."},
		},
		{
			table: t, key: "addresses", at: func(a *Allow) any { return &a.Addresses }, eg: "[]",
			doc: []string{
				"Addresses or prefixes that the name may lead to although they are not",
				`public, as "10.2.0.0/16": loopback, private, link-local and metadata`,
				"addresses are refused otherwise.",
			},
		},
		{
			table: t, key: "returns_secret", at: func(a *Allow) any { return &a.ReturnsSecret }, eg: "false",
			doc: []string{"true: an operation that is meant to return a credential; what comes", "back is then not searched for the account's secret."},
		},
	}
}

// credentialFields lists the keys of one [[credentials]] entry.
func credentialFields() []field[Credential] {
	const t = "credentials"
	return []field[Credential]{
		{
			table: t, key: "name", at: func(c *Credential) any { return &c.Name }, eg: `"packages-read"`,
			doc: []string{"What account in an entry above calls it."},
		},
		{
			table: t, key: "source", at: func(c *Credential) any { return &c.Source }, eg: `"env:PACKAGES_TOKEN"`,
			doc: []string{
				"Where the secret is, outside: env:NAME, file:PATH, file:PATH#key.of.json",
				"or command:/absolute/path and arguments. Read at use, never inside.",
			},
		},
		{
			table: t, key: "attach", at: func(c *Credential) any { return &c.Attach }, eg: `"Authorization: Bearer {secret}"`,
			doc: []string{`The header that carries it; or "Authorization: Basic user:{secret}"; or`, `"query: key={secret}".`},
		},
		{
			table: t, key: "placeholder", at: func(c *Credential) any { return &c.Placeholder }, eg: `"env:PACKAGES_TOKEN"`,
			doc: []string{"env:NAME: the variable in which the session sees a placeholder. The proxy", "puts the secret in its place, at its own destinations only."},
		},
		{
			table: t, key: "placeholder_format", at: func(c *Credential) any { return &c.PlaceholderFormat }, eg: `"pk_{random:40}"`,
			doc: []string{
				"What a placeholder looks like: text with {random:N}, {hex:N}, {digits:N},",
				"{uuid}, {jwt} or {session} in it; at least 20 random characters.",
			},
		},
	}
}
