import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Prompter } from '@warder/command-line'
import { createAccountCommand, createPasswordCommand } from '@warder/command-line/account'
import { type Installation, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'

// Tests of the services that `warder login --url` remembers, of a password, and of a second factor.

let warder: Installation
const folder = temporaryHome()
const config = join(folder, 'config')
const env = { XDG_CONFIG_HOME: config }
const first = 'the first password of ann'
const chosen = 'violet harbour 7 lanterns'

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

before(async () => {
  warder = await startInstallation({ env: { AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '1000' } })
  const realm = ['--home', warder.home, '--realm', 'shop']
  for (const words of [
    ['create-realm', 'shop', '--home', warder.home],
    ['add-user', 'ann', ...realm, '--new-password-file', file('first', first), '--keep-password'],
  ]) {
    const { code, err } = await runWarder(['admin', ...words])
    assert.equal(code, 0, err)
  }
})
after(async () => {
  await warder.stop()
  rmSync(folder, { recursive: true, force: true })
})

const places = () => ['--url', warder.kmsUrl, '--auth-url', warder.authUrl, '--ca-file', warder.caFile]
const annLogsIn = (...words: string[]) =>
  runWarder(
    [
      'login',
      '--no-keyring',
      '--realm',
      'shop',
      '--user',
      'ann',
      '--password-file',
      join(folder, 'first'),
      ...words,
    ],
    env,
  )

test('a login with an address is remembered, with its authority, for every command in every folder', async () => {
  const login = await annLogsIn(...places())
  assert.equal(login.code, 0, login.err)
  assert.match(
    login.out,
    /^commands use the context 127\.0\.0\.1 in every folder now: see warder context --help$/m,
  )
  assert.deepEqual(readdirSync(join(config, 'warder')).sort(), ['authorities', 'contexts.json', 'logins'])
  assert.ok(!readFileSync(join(config, 'warder', 'contexts.json'), 'utf8').includes('eyJ'), 'no token')

  const who = JSON.parse((await runWarder(['whoami', '--json'], env)).out)
  assert.deepEqual([who.user, who.context, who.url], ['shop/ann', '127.0.0.1', warder.kmsUrl])
  assert.match((await runWarder(['access', 'me'], env)).out, /shop\/ann/)
  assert.match(
    (await runWarder(['context', 'list'], env)).out,
    /^127\.0\.0\.1 +\* .* ann of realm shop, until 20/m,
  )
  const refused = await runWarder(['admin', 'users', '--realm', 'shop'], env)
  assert.match(refused.err, /answered 403: .*\(as ann of realm shop, of warder login/)
  const asAdmin = ['--password-file', join(warder.home, 'initial-admin-password')]
  assert.match((await runWarder(['admin', 'users', '--realm', 'shop', ...asAdmin], env)).out, /^ann/m)

  // A home on the command line selects its own services, whatever the context is.
  const local = await runWarder(['access', 'me', '--json'], { ...env, WARDER_HOME: warder.home })
  assert.equal(JSON.parse(local.out).user, 'admin')
  assert.match(
    (await runWarder(['whoami', '--context', 'local'], env)).err,
    /endpoints.json does not exist: /,
  )
  assert.match((await runWarder(['whoami', '--context', 'other'], env)).err, /there is no context 'other'/)

  assert.match(
    (await runWarder(['context', 'delete', '127.0.0.1'], env)).err,
    /ann of realm shop is logged in: first run/,
  )
  assert.equal((await runWarder(['logout'], env)).code, 0)
  assert.match((await runWarder(['whoami'], env)).err, /not logged in/)
  assert.equal((await runWarder(['context', 'delete', '127.0.0.1'], env)).code, 0)
  assert.match((await runWarder(['whoami'], env)).err, /endpoints.json does not exist: .*warder login --url/)
})

test('a context gets a name; a home that is named remembers none', async () => {
  const named = await annLogsIn(...places(), '--context', 'shop', '--json')
  assert.equal(JSON.parse(named.out).context, 'shop', named.err)
  assert.equal((await runWarder(['context', 'use', 'local'], env)).code, 0)
  const who = await runWarder(['whoami', '--json', '--context', 'shop'], env)
  assert.equal(JSON.parse(who.out).user, 'shop/ann')
  assert.equal((await runWarder(['context', 'delete', 'shop', '--force'], env)).code, 0)
  assert.deepEqual(readdirSync(join(config, 'warder', 'logins')), [], 'the login is forgotten, too')

  const home = join(folder, 'home')
  mkdirSync(home)
  assert.equal((await annLogsIn(...places(), '--home', home)).code, 0)
  assert.equal(readdirSync(join(home, 'logins')).length, 1)
  assert.equal((await runWarder(['context', 'list', '--json'], env)).out.trim(), '[]')
  for (const [words, expected] of [
    [['--context', 'a/b'], /--context must have 1 to 64 letters/],
    [['--context', 'local'], /must not be local/],
    [['--context', 'x', '--home', home], /--context remembers services for every folder, which --home/],
  ] as const) {
    const { code, err } = await annLogsIn(...places(), ...words)
    assert.match(err, expected)
    assert.equal(code, 2)
  }
})

/** Runs `warder password` with a user at the terminal who gives these answers; without any, no terminal. */
async function changePassword(words: readonly string[], answers: readonly string[] = [], more = {}) {
  const left = [...answers]
  const asked: string[] = []
  const ask = async (question: string): Promise<string> => {
    asked.push(question)
    return left.shift() ?? ''
  }
  const prompter: Prompter = { interactive: answers.length > 0, ask, askSecret: ask }
  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(line), err: () => {}, env: more }
  try {
    await createPasswordCommand(() => prompter).run(['--home', warder.home, ...words], terminal)
    return { out: lines.join('\n'), failed: '', asked }
  } catch (error) {
    return { out: lines.join('\n'), failed: error instanceof Error ? error.message : String(error), asked }
  }
}

test('users change their own password, as those who are logged in or who are named', async () => {
  const login = ['--no-keyring', '--home', warder.home, '--realm', 'shop', '--user', 'ann']
  const logIn = (password: string) =>
    runWarder(['login', ...login, '--password-file', file('present', password)])
  assert.equal((await logIn(first)).code, 0)
  const weak = await changePassword([], [first, 'password1', 'password1'])
  assert.match(weak.failed, /^the service answered 400: new_password: /)
  assert.match(
    (await changePassword([], [first, chosen, 'x'])).failed,
    /two passwords differ: nothing was changed/,
  )
  const wrong = await changePassword([], ['wrong', chosen, chosen, ''])
  assert.match(wrong.failed, /^the change was refused: check the present password \(from the prompt\)/)
  assert.equal((await logIn(first)).code, 0, 'nothing was changed')

  const done = await changePassword([], [first, chosen, chosen])
  assert.equal(done.failed, '')
  assert.deepEqual(done.asked, [
    'Password of ann in realm shop: ',
    'New password of ann of realm shop: ',
    'The same again: ',
  ])
  assert.match(
    done.out,
    /^ann of realm shop has a new password; .*\nlog in again: warder login --realm shop --user ann$/,
  )
  assert.ok(!done.out.includes(chosen))
  assert.match(
    (await runWarder(['whoami', '--home', warder.home])).err,
    /not logged in/,
    'the session has ended',
  )
  assert.notEqual((await logIn(first)).code, 0)

  const named = ['--realm', 'shop', '--user', 'ann', '--password-file', file('present', chosen)]
  assert.match(
    (await changePassword(named)).failed,
    /a new password needs a terminal, or --new-password-file FILE/,
  )
  const byFile = await changePassword([...named, '--new-password-file', file('next', first), '--json'])
  assert.deepEqual(JSON.parse(byFile.out), { changed: { realm: 'shop', username: 'ann' } })
  assert.equal((await logIn(first)).code, 0)
  assert.match(
    (await changePassword(['--password-file', '-', '--new-password-file', '-'])).failed,
    /standard input can be used only once/,
  )
  assert.match((await changePassword(['x'])).failed, /unknown argument: x/)
})

test('the first administrator is told of the file with the old password', async () => {
  assert.equal((await runWarder(['logout', '--home', warder.home])).code, 0)
  const done = await changePassword([], [chosen, chosen])
  assert.match(done.out, /initial-admin-password contains the old password: remove it$/)
})

/** RFC 6238, SHA-1, 30 seconds. */
function totp(secret: string, step = Math.floor(Date.now() / 30_000)): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Runs `warder account` with a user at the terminal, whose app has read what was shown; without answers, no terminal. */
async function runAccount(
  words: readonly string[],
  answers?: readonly (string | ((secret: string) => string))[],
) {
  const left = [...(answers ?? [])]
  const [lines, notes]: [string[], string[]] = [[], []]
  const ask = async (): Promise<string> => {
    const answer = left.shift() ?? ''
    const shown = /enter the secret: ([A-Z2-7 ]+)$/m.exec(notes.join('\n'))?.[1]?.replaceAll(' ', '')
    return typeof answer === 'string' ? answer : answer(shown ?? '')
  }
  const prompter: Prompter = { interactive: answers !== undefined, ask, askSecret: ask }
  const terminal = {
    out: (line: string) => void lines.push(line),
    err: (line: string) => void notes.push(line),
    env: {},
  }
  try {
    await createAccountCommand(() => prompter).run(['--home', warder.home, ...words], terminal)
    return { out: lines.join('\n'), notes: notes.join('\n'), failed: '' }
  } catch (error) {
    assert.ok(error instanceof Error)
    return { out: lines.join('\n'), notes: notes.join('\n'), failed: error.message }
  }
}

test('users enroll their own second factor with a QR code, and log in with a recovery code', async () => {
  const login = ['login', '--no-keyring', '--home', warder.home, '--realm', 'shop', '--user', 'ann']
  const logIn = (...words: string[]) =>
    runWarder([...login, '--password-file', file('present', first), ...words])
  assert.equal((await logIn()).code, 0)
  assert.match(
    (await runAccount(['show'])).out,
    /^user: +ann of realm shop\nfactors: +password\nunused recovery codes: +0\n/,
  )
  const wrong = await runAccount(['enroll-totp'], ['000000', '000001', '000002'])
  assert.match(wrong.failed, /400: code: does not match the secret/)
  assert.match(
    (await runAccount(['enroll-totp'])).failed,
    /a secret is shown at a terminal only; programs use --begin/,
  )

  const enrolled = await runAccount(['enroll-totp'], ['000000', (secret) => totp(secret)])
  assert.equal(enrolled.failed, '')
  assert.match(enrolled.notes, /[█▀▄]{10}/)
  assert.match(enrolled.notes, /\(2 more tries\)/)
  const codes = enrolled.out.match(/^ {2}\S+$/gm)?.map((line) => line.trim()) ?? []
  assert.equal(codes.length, 10)
  assert.match((await runAccount(['show'])).out, /factors: +password, TOTP\nunused recovery codes: +10\n/)

  assert.match((await logIn()).err, /ann has a second factor: give its code with --totp-code/)
  assert.equal((await logIn('--totp-code', codes[0] ?? '')).code, 0)
  assert.notEqual((await logIn('--totp-code', codes[0] ?? '')).code, 0, 'each works once')
  assert.equal((await runAccount(['recovery-codes'], ['n'])).failed, 'nothing was changed')
  const renewed = JSON.parse((await runAccount(['recovery-codes', '--yes', '--json'])).out).recovery_codes
  assert.equal(renewed.length, 10)
  assert.notEqual((await logIn('--totp-code', codes[1] ?? '')).code, 0, 'the earlier ones ended')
  assert.equal((await runAccount(['disable-totp', '--yes'])).failed, '')
  assert.equal((await logIn()).code, 0)
})

test('a user without a session enrolls with a one-time token of an administrator', async () => {
  assert.equal((await runWarder(['logout', '--home', warder.home])).code, 0)
  const words = ['admin', 'totp-token', 'ann', '--realm', 'shop', '--home', warder.home]
  const created = await runWarder([...words, '--json', '--password-file', file('admin', chosen)])
  assert.equal(created.code, 0, created.err)
  const token = file('token', JSON.parse(created.out).token)
  const enrolled = await runAccount(['enroll-totp', '--token-file', token], [(secret) => totp(secret)])
  assert.equal(enrolled.failed, '')
  assert.match(enrolled.out, /^the app is enrolled/)
  const again = await runAccount(['enroll-totp', '--token-file', token], ['000000'])
  assert.match(again.failed, /401: The link was used, has expired, or was replaced/)
  for (const [expected, ...more] of [
    [/both calls must be in one session: run warder login first/, 'enroll-totp', '--begin'],
    [/--enrollment and --code must be given together/, 'enroll-totp', '--code', '1'],
    [
      /--begin and --enrollment exclude each other/,
      'enroll-totp',
      '--begin',
      '--enrollment',
      'x',
      '--code',
      '1',
    ],
    [/unknown argument: x/, 'show', 'x'],
    [/there is no verb 'fly'/, 'fly'],
  ] as const)
    assert.match((await runAccount(more)).failed, expected)
})
