package risk

// agentRules are for what steers coding agents: instructions that the next one
// obeys, and settings, servers and hooks that it starts outside this sandbox.
var agentRules = []Rule{
	{Name: "own-policy", Severity: danger, Why: "this file says what the next sandbox of this repository may do", Paths: []string{".fumehood/**", "fumehood.toml"}, Gone: warn, GoneWhy: "without its policy the repository's next sandbox may do more"},
	{
		Name: "agent-settings", Severity: danger,
		Why: "an agent outside this sandbox reads its permissions, servers and hooks from this file and runs what it names",
		Paths: []string{
			".mcp.json", "mcp.json", ".mcp/**", "mcp-config.json", "mcp_config.json", "mcp_settings.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/**", ".claude/launch.json", ".claude/scheduled_tasks.json", ".claude/plugins/**", ".claude/workflows/**", ".claude/routines/**", ".claude.json", ".claude-plugin/**",
			".codex/config.toml", ".codex/hooks.json", ".codex/rules/**", ".codex-plugin/**", ".cursor-plugin/**", ".gemini/settings.json", ".gemini/extensions/**", ".gemini/hooks/**", ".gemini/.env", ".gemini/sandbox.dockerfile", ".gemini/sandbox*.sb", ".qwen/settings.json", ".qwen/.env", ".qwen/extensions/**", ".qwen/hooks/**",
			"opencode.json", "gemini-extension.json", "opencode.jsonc", "tui.json", "tui.jsonc", ".opencode/plugin/**", ".opencode/plugins/**", ".opencode/tool/**", ".opencode/tools/**", ".opencode/opencode.json*", ".github/copilot/**", ".github/hooks/**", ".copilot/**", "crush.json", ".crush.json", ".crush/**", "crushrc", ".crushrc", ".clinerules/hooks/**", ".cline/**", ".pi/settings.json", ".pi/extensions/**", ".pi/hooks/**", ".pi/tools/**", ".amp/**", ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks/**", ".cursor/cli.json", ".cursor/environment.json", ".cursor/worktrees.json", ".roo/mcp.json", ".kilocode/mcp.json", ".continue/mcpservers/**", ".continue/config.*", ".windsurf/mcp*.json", ".windsurf/hooks.json", ".amazonq/mcp.json", ".amazonq/cli-agents/**", ".kiro/settings/**", ".kiro/hooks/**", ".trae/mcp.json", ".junie/mcp/**", ".augment/settings.json", ".factory/**", ".goose/**", "goose.yaml", ".openhands/**", ".devin/**", ".zed/mcp*.json", "claude_desktop_config.json", ".vscode/mcp.json", "smithery.yaml", "mcp*.json", ".mcp*.json", "*mcp_settings.json", "*mcp-config.json", "*mcp_config.json", "mcp/servers.json", "mcpservers.json", "mcp.y*ml", "mcp.toml", "mcp-servers.y*ml", "hooks/hooks.json", ".*/mcp.json", ".*/mcp/*.json", ".*/hooks.json",
			"plugins/marketplace.json", ".agents/plugins/**", ".agents/mcp.json",
		},
	},
	{Name: "agent-tool-config", Severity: warn, Why: "an agent runs the commands that this file names, after each edit or at its start", Paths: []string{".aider.conf.y*ml", ".aider.model.settings.yml", ".aider/**", ".goosehints", ".aiderignore", ".geminiignore", ".qwenignore", ".cursorignore", ".cursorindexingignore", ".codeiumignore", ".clineignore", ".rooignore", ".aiexclude", ".aiignore", ".continueignore", ".copilotignore", ".mentat_config.json", ".sweep.y*ml", "sweep.y*ml", ".coderabbit.y*ml", ".pr_agent.toml", ".plandex/**", "ellipsis.y*ml", "aider.conf.y*ml", "promptfooconfig.y*ml", "promptfooconfig.*", "cagent.y*ml", "agent.y*ml", "agent.toml", "agent.json", "agents.y*ml", "agents.toml", "agents.json", "crew.y*ml", "goose-recipe.y*ml", "docker-agent.y*ml", "e2b.toml", "daytona.y*ml", "container-use.json", "conductor.json", "rulesync.jsonc", ".gptme.toml", "gptme.toml", ".llm/**", ".tabnine/**", "greptile.json", ".bito.yaml"}},
	{
		Name: "agent-instructions", Severity: warn,
		Why: "the next agent that works here reads this file as instructions",
		Paths: []string{
			"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "qwen.md", "crush.md", "crush.local.md", "/agent.md", "/copilot.md", "/codex.md", "/warp.md", "/jules.md", "/grok.md", "/kimi.md", "/iflow.md", "/devin.md", "/cursor.md", "/windsurf.md", "/cline.md", "/aider.md", "/conventions.md", "/instructions.md", "/system_prompt.md", "/system-prompt.md", "copilot-instructions.md", "memory-bank/**", ".*/rules/**", ".*/commands/**", ".*/agents/**", ".*/skills/**", ".*/prompts/**", ".*/steering/**", ".*/instructions/**", ".*/guidelines/**", ".*/workflows/*.md", ".*/personas/**", ".*/modes/**", ".*/droids/**", ".*/microagents/**", ".*rules", ".aiassistant/**", ".openhands_instructions", ".crush.md", ".claude.md", ".agent.md",
			".claude/**", ".codex/**", ".agents/**", ".agent/**", ".gemini/**", ".qwen/**", ".opencode/**", ".pi/**", ".cursor/**", ".cursorrules", ".windsurfrules", ".windsurf/**", ".clinerules", ".clinerules/**", ".clinerules-*", ".roo/**", ".roorules*", ".roomodes", ".kilocode/**", ".kilocodemodes", ".kilocoderules*", ".continue/**", ".continuerules", ".amazonq/**", ".kiro/**", ".trae/**", ".junie/**", ".augment/**", ".augment-guidelines", ".tabnine_root/**", ".github/copilot-instructions.md", ".github/instructions/**", ".github/agents/**", ".github/skills/**", ".github/prompts/**", ".github/chatmodes/**", "/.rules", ".airules", ".ai/**", ".ruler/**", ".specify/**", ".superdesign/**", ".firebender/**", "skill.md", "llms.txt", "llms-full.txt", "*.prompt.md", "*.instructions.md", "*.chatmode.md", "*.agent.md", ".zencoder/**", ".void/**", "recipe.yaml", ".sourcegraph/**", "replit.md", ".bolt/**", ".lovable/**", ".idx/airules.md",
			"gemini.local.md", "agents.local.md", "/review.md", "/bugbot.md", "/soul.md", "/heartbeat.md", ".*.md", ".gitlab/duo/**", ".jules/**", ".greptile/**",
		},
	},
	{
		Name: "agent-addressed", Severity: warn, InTests: note,
		Why:  "an agent that reads this is told to do something, or to mind its own instructions no longer",
		Line: `(?i)\b(ignore|disregard|forget|override)\s+(all\s+|any\s+|the\s+|your\s+|of\s+)*(previous|prior|above|earlier|preceding|system|existing)\s+(\w+\s+)?(instructions?|prompts?|directives|guidelines)\b|\b(AI|LLM|coding|autonomous)[ -](agents?|assistants?|models?)\b.*\b(must|shall|always|please|are\s+(required|expected|instructed)\s+to|(have|need)\s+to|do\s+not|don't|first)\b.*\b(run|execute|approve|install|curl|disable|skip|delete|send|upload|commit|push|mention|tell|report)\b|\bif you('re| are) an? (AI|LLM|language model|(coding |AI )?(agent|assistant))\b|\b(note|instruction)s?\s+(for|to)\s+(the\s+|all\s+)?(AI|LLMs?|language models?|claude|copilot|cursor|codex|gemini|chatgpt)\b|\b(do not|don't|never|without)\s+(tell(ing)?|inform(ing)?|alert(ing)?|notify(ing)?|ask(ing)?|mention\w*\s+\w+\s+to)\s+the user\b|<!--.*\b(claude|copilot|cursor|gemini|codex|chatgpt|assistants?|agents?)\b.*\b(run|execute|ignore|must|do not|don't|always)\b`,
		Has:  []string{"ignore", "disregard", "forget", "override", "agent", "assistant", "model", "<!--", "if you", "note", "instruction", "the user"},
	},
	{
		Name: "agent-approval", Severity: warn, Code: true,
		Why:  "running this lets an agent act without asking",
		Line: `--dangerously-skip-permissions|--dangerously-bypass-approvals|--yolo\b|--allow-all-tools|--trust-all-tools|"(autoAccept|autoApprove|alwaysAllow|bypassPermissions|enableAllProjectMcpServers)"|chat\.tools\.(global\.)?autoApprove|permissionMode.{0,8}bypass|approval_policy\s*=\s*"never"|sandbox_mode\s*=\s*"danger`,
		Has:  []string{"dangerously", "--yolo", "-all-tools", "autoA", "alwaysAllow", "bypassPerm", "enableAllProject", "permissionMode", "approval_policy", "sandbox_mode"},
	},
}
