import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Command, Prompter, UserTerminal } from '@warder/command-line'
import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { change, openSqlite, query } from '@warder/storage'
import { accessParts } from '../access/command.ts'
import { auditParts } from '../audit/command.ts'
import { cryptoParts } from '../crypto/command.ts'
import { externalParts } from '../external/command.ts'
import { keysParts } from '../keys/command.ts'
import { notifyParts } from '../notify/command.ts'
import { officersParts } from '../officers/command.ts'
import { pkiParts } from '../pki/command.ts'
import { statusParts } from '../status/command.ts'
import { type Installation, runWarder, startSharedInstallation } from './installation.ts'

/** Outcome of a run of the command. */
export interface Ran {
  readonly code: number
  /** Lines on standard output, and bytes that were written to it as they are. */
  readonly out: string
  readonly bytes: Buffer
  readonly err: string
  /** Questions to the user at the terminal. */
  readonly asked: readonly string[]
}

export interface RunOptions {
  /** Verbs of which the first word is one; default: those of the command that the first word names. */
  readonly parts?: KmsCommandParts
  /** Session token; default: the installation's administrator logs in. */
  readonly token?: string | undefined
  /** Environment of the command, in place of the token. */
  readonly env?: Readonly<Record<string, string>>
  readonly input?: Uint8Array
  /** Answers of the user at the terminal, in turn. */
  readonly answers?: readonly string[]
  /** Ctrl-C after this many steps of progress. */
  readonly interruptAfter?: number
}

const parts = {
  keys: keysParts,
  crypto: cryptoParts,
  access: accessParts,
  audit: auditParts,
  external: externalParts,
  notify: notifyParts,
  officers: officersParts,
  pki: pkiParts,
  status: statusParts,
}

/** Runs `warder WORDS…` in this process, over HTTPS, with or without a user at the terminal. */
export async function runInProcess(
  warder: Pick<Installation, 'home'>,
  words: readonly string[],
  options: RunOptions = {},
): Promise<Ran> {
  const [name = '', ...rest] = words
  const [found, args] =
    options.parts === undefined ? [parts[name as keyof typeof parts], rest] : [options.parts, words]
  const lines: string[] = []
  const errors: string[] = []
  const bytes: Buffer[] = []
  const asked: string[] = []
  const answers = [...(options.answers ?? [])]
  const ask = async (question: string): Promise<string> => {
    asked.push(question)
    return answers.shift() ?? ''
  }
  const prompter: Prompter = { interactive: options.answers !== undefined, ask, askSecret: ask }
  let stop: ((signal: NodeJS.Signals) => void) | undefined
  let steps = 0
  const person: UserTerminal = {
    prompter,
    screen: {
      isTTY: options.interruptAfter !== undefined,
      write() {
        steps += 1
        if (steps === options.interruptAfter) stop?.('SIGINT')
      },
    },
    input: Readable.from(options.input === undefined ? [] : [Buffer.from(options.input)]),
    writeOutput: async (chunk) => void bytes.push(Buffer.from(chunk)),
    onInterrupt(callback) {
      stop = callback
      return () => {
        stop = undefined
      }
    },
  }
  const command: Command = kmsCommand(found, () => person)
  const env = options.env ?? (options.token === undefined ? {} : { WARDER_TOKEN: options.token })
  let code: number
  try {
    code = await command.run(['--home', warder.home, ...args], {
      out: (line) => void lines.push(line),
      err: (line) => void errors.push(line),
      env,
    })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    // As main.ts tells them apart; anything else is a mistake of the program, and fails the test.
    if (error.name !== 'UsageError' && error.name !== 'StartupError' && error.name !== 'FileRefused')
      throw error
    code = error.name === 'UsageError' ? 2 : 1
    errors.push(error.message)
  }
  return { code, out: lines.join('\n'), bytes: Buffer.concat(bytes), err: errors.join('\n'), asked }
}

/** A session of a user of the realm `_`, as a bearer token. */
export async function logInUser(warder: Installation, username: string, password: string): Promise<string> {
  const basic = Buffer.from(`${username}:${password}`).toString('base64')
  const auth = warder.client('auth')
  const answer = await auth.ask('/login?realm=_', { json: {}, headers: { authorization: `Basic ${basic}` } })
  auth.close()
  const token = /^_ea_=([^;]+)/.exec([answer.headers['set-cookie']].flat()[0] ?? '')?.[1]
  if (token === undefined) throw new Error(`no session: ${answer.text}`)
  return token
}

/** Adds a user of the realm `_` and logs them in. @returns their token */
export async function newUser(warder: Installation, username: string): Promise<string> {
  const password = `the password of ${username}`
  const file = join(warder.home, `password-${username}`)
  writeFileSync(file, password)
  const added = await runWarder([
    ...['admin', 'add-user', username, '--realm', '_', '--new-password-file', file],
    ...['--keep-password', '--home', warder.home],
  ])
  if (added.code !== 0) throw new Error(added.err)
  return logInUser(warder, username, password)
}

/** Commands of `warder` against an installation that the tests of a file share. */
export interface CommandFixture {
  readonly warder: Installation
  /** A session of the administrator, with which commands run by default. */
  readonly admin: string
  run(words: readonly string[], options?: RunOptions): Promise<Ran>
  /** A command that has to succeed. */
  ok(words: readonly string[], options?: RunOptions): Promise<Ran>
  /** The text that such a command prints. */
  output(words: readonly string[], options?: RunOptions): Promise<string>
  /** The JSON that it prints with `--json`. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  json(words: readonly string[], options?: RunOptions): Promise<any>
  /** A command that has to fail, with one line and without output. */
  fails(words: readonly string[], error: RegExp, options?: RunOptions, code?: number): Promise<Ran>
}

/**
 * Starts an installation for the tests of a file.
 * @param command the first words of each command
 * @param env the environment of `warder start`
 */
export async function startCommandFixture(
  command: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandFixture> {
  const warder = await startSharedInstallation(env)
  const admin = await logInUser(warder, 'admin', warder.password)
  const run: CommandFixture['run'] = (words, options = {}) =>
    runInProcess(warder, [...command, ...words], { token: admin, ...options })
  const ok: CommandFixture['ok'] = async (words, options) => {
    const ran = await run(words, options)
    assert.equal(ran.code, 0, ran.err)
    return ran
  }
  return {
    warder,
    admin,
    run,
    ok,
    output: async (words, options) => (await ok(words, options)).out,
    json: async (words, options) => JSON.parse((await ok([...words, '--json'], options)).out),
    async fails(words, error, options, code = 1) {
      const ran = await run(words, options)
      assert.match(ran.err, error)
      assert.deepEqual([ran.code, ran.out, ran.bytes.length, ran.err.includes('\n')], [code, '', 0, false])
      return ran
    },
  }
}

/** Adds a node that was retired to the database of a service that is stopped. */
export async function addRetiredNode(path: string): Promise<void> {
  const db = openSqlite({ path })
  const insert = query<[log: string, node: string]>(
    "INSERT INTO audit_node (log, node, address, started_at) VALUES (?, ?, '', 0)",
  )
  await db.commit([change(insert, ['retired:/srv/warder', 'retired'])])
  await db.close()
}
