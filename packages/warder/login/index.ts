/** How a command becomes somebody at the authentication service: questions, secrets of files, the login itself. */

export { connectionHint, refusal, send, successful } from './exchange.ts'
export { type Login, logIn, nonEmpty, type Session } from './login.ts'
export { NoAnswer, type Prompter, type TerminalInput, terminalPrompter } from './prompter.ts'
export { readSecretFile } from './secret-file.ts'
