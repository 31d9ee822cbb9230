import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Command, Prompter } from '@warder/command-line'
import { adminCommand } from '../admin/command.ts'
import { runInProcess } from '../testing/in-process.ts'
import { type Installation, startInstallation, temporaryHome } from '../testing/installation.ts'
import { createLoginCommand } from './login.ts'
import { logout, whoami } from './session.ts'

let warder: Installation
let admin: string
const secrets = temporaryHome()
const byPassword = { allow_expired_passwords: false }
const annPassword = 'the password of ann'

before(async () => {
  warder = await startInstallation({
    env: {
      AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '1000',
      AUTH_LOGIN_RATE_LIMIT_BURST: '10000',
      KMS_ROLE_SOURCES: 'shoppers,session,shop',
    },
  })
  admin = await warder.adminToken()
  await asAdmin('POST', '/admins/realms', realm('shop', { username_password_params: byPassword }))
  await asAdmin(
    'POST',
    '/admins/realms',
    realm('totp', { username_password_params: byPassword, totp_params: { algorithm: 'SHA1', step: 30 } }),
  )
  for (const [name, username] of [
    ['shop', 'ann'],
    ['totp', 'tom'],
  ]) {
    const password_input = { plaintext: annPassword }
    const body = { realm: name, username, password_input, change_password: false, roles: ['buyer'] }
    await asAdmin('POST', `/realms/${name}/userpass`, body)
  }
})
after(async () => {
  await warder.stop()
  rmSync(secrets, { recursive: true, force: true })
})
beforeEach(() => rmSync(join(warder.home, 'logins'), { recursive: true, force: true }))

const realm = (id: string, auth_params: object) => ({
  id,
  auth_params,
  session_max_age_seconds: 3600,
  session_max_stale_age_seconds: 3600,
})

async function asAdmin(method: string, path: string, json?: unknown) {
  const client = warder.client('auth')
  const headers = { cookie: `_ea_=${admin}` }
  const answer = await client.ask(path, { method, headers, ...(json === undefined ? {} : { json }) })
  client.close()
  assert.ok(answer.status < 300, answer.text)
  return answer.json as Record<string, never>
}

/** An answer, or a function that computes it when it is asked for. */
type Answer = string | (() => Promise<string>)

/** A prompter with these answers; without any, there is no terminal. */
function createPrompter(answers: readonly Answer[]): Prompter {
  const left = [...answers]
  const ask = async (): Promise<string> => {
    const answer = left.shift()
    assert.ok(answer !== undefined, 'asked too often')
    return typeof answer === 'string' ? answer : answer()
  }
  return { interactive: answers.length > 0, ask, askSecret: ask }
}

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(
  command: Command,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  home = warder.home,
): Promise<Ran> {
  const lines: string[] = []
  const errors: string[] = []
  const terminal = {
    out: (line: string) => void lines.push(line),
    err: (line: string) => void errors.push(line),
    env,
  }
  let code: number
  try {
    code = await command.run(['--home', home, ...words], terminal)
  } catch (error) {
    assert.ok(error instanceof Error && /^(Usage|Startup)Error$/.test(error.name), String(error))
    code = error.name === 'UsageError' ? 2 : 1
    errors.push(error.message)
  }
  return { code, out: lines.join('\n'), err: errors.join('\n') }
}

const logIn = (words: readonly string[], answers: readonly Answer[] = [], env = {}, home = warder.home) =>
  run(
    createLoginCommand(() => createPrompter(answers)),
    words,
    env,
    home,
  )

/** As whom the key management service takes a command; why not, where it does not. */
async function nameAtKms(
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const ran = await runInProcess(warder, ['access', 'me', '--json', ...words], { env })
  return ran.code === 0 ? JSON.parse(ran.out).user : ran.err
}

const onlyFile = (home = warder.home): string => {
  const folder = join(home, 'logins')
  const files = readdirSync(folder)
  assert.equal(files.length, 1)
  return join(folder, files[0] ?? '')
}
const content = (home?: string) => JSON.parse(readFileSync(onlyFile(home), 'utf8'))

async function annLogsIn(): Promise<string> {
  const { code, err } = await logIn(['--realm', 'shop', '--user', 'ann'], [annPassword])
  assert.equal(code, 0, err)
  return content().token
}

async function bearerStatus(token: string): Promise<number> {
  const kms = warder.client('kms')
  const answer = await kms.ask('/me', { headers: { authorization: `Bearer ${token}` } })
  kms.close()
  return answer.status
}

/** RFC 6238, SHA-1, 30 seconds. */
function totp(secret: string, step: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

test('a login serves every command until the logout, which ends it at both services', async () => {
  assert.equal((await run(whoami, [])).err, 'not logged in: see warder login --help')
  const { code, out } = await logIn(['--realm', 'shop', '--user', 'ann'], [annPassword])
  assert.equal(code, 0)
  assert.match(
    out,
    /^logged in as ann of realm shop \(password\), until 20\d\d-.*Z\nkept in .*\(mode 0600\)$/,
  )
  assert.equal(lstatSync(onlyFile()).mode & 0o777, 0o600)
  assert.equal(lstatSync(join(warder.home, 'logins')).mode & 0o777, 0o700)
  const { token } = content()
  assert.ok(!out.includes(token))

  const who = await run(whoami, [])
  assert.match(
    who.out,
    /^ann of realm shop \(password\), until .*\nat https:.* known as shop\/ann\nwith the roles role:shoppers\/buyer\nkept in /,
  )
  assert.ok(!who.out.includes(token))
  const json = JSON.parse((await run(whoami, ['--json'])).out)
  assert.deepEqual([json.username, json.realm, json.user, json.kind], ['ann', 'shop', 'shop/ann', 'session'])
  assert.deepEqual(json.roles, ['role:shoppers/buyer'])
  assert.equal(await nameAtKms(), 'shop/ann')

  assert.equal((await run(logout, [])).out, 'ann of realm shop: logged out')
  assert.deepEqual(readdirSync(join(warder.home, 'logins')), [])
  assert.equal((await run(logout, [])).out, 'not logged in')
  assert.equal(await bearerStatus(token), 401)
  assert.equal(await nameAtKms(), 'admin')
})

test('one code of the second factor is enough for a session', async () => {
  const { secret_base32: secret } = await asAdmin('POST', '/realms/totp/totp/generate?realm=totp', {
    username: 'tom',
    issuer: 'warder',
  })
  const step = Math.floor(Date.now() / 30_000)
  await asAdmin('POST', '/realms/totp/totp/verify?realm=totp', {
    ...{ username: 'tom', issuer: 'warder', secret, token: totp(secret ?? '', step) },
  })
  const words = ['--realm', 'totp', '--user', 'tom']
  const ran = await logIn(words, [annPassword, totp(secret ?? '', step + 1)])
  assert.equal(ran.code, 0, ran.err)
  for (let count = 0; count < 3; count++) assert.equal(await nameAtKms(), 'totp/tom')
  // Said again, they are the same person: no other code is asked for.
  assert.equal(await nameAtKms(words), 'totp/tom')
})

test('credentials of another user have priority; the session stays', async () => {
  await annLogsIn()
  assert.equal(await nameAtKms([], { WARDER_TOKEN: admin }), 'admin')
  assert.equal(await nameAtKms([], { WARDER_PASSWORD: warder.password }), 'admin')
  assert.equal(await nameAtKms(['--user', 'admin'], {}), 'admin')
  const file = join(secrets, 'token')
  writeFileSync(file, admin)
  assert.equal(await nameAtKms(['--token-file', file]), 'admin')
  assert.equal(await nameAtKms(), 'shop/ann')
})

test('administration goes through the session, too, and says so when it is not enough', async () => {
  const command = adminCommand(() => createPrompter([]))
  await annLogsIn()
  const refused = await run(command, ['users', '--realm', 'shop'])
  assert.match(refused.err, /answered 403: .* \(as ann of realm shop, of warder login; --admin NAME logs in/)
  assert.equal((await run(command, ['users', '--realm', 'shop', '--admin', 'admin'])).code, 0)

  assert.equal((await logIn([])).code, 0)
  const { token } = content()
  assert.match((await run(command, ['users', '--realm', 'shop'])).out, /^ann/m)
  assert.equal(await bearerStatus(token), 200, 'the session goes on')
})

test('a session that has ended is told in one line with what to do', async () => {
  await annLogsIn()
  const { sessionId } = content().facts
  await asAdmin('DELETE', '/sessions', { session_ids: [sessionId] })
  const told =
    /^the login of ann of realm shop was ended at the authentication service: log in again with warder login --realm shop --user ann$/
  assert.match((await run(whoami, [])).err, told)
  assert.match(await nameAtKms(), told)
  assert.match(
    (
      await run(
        adminCommand(() => createPrompter([])),
        ['users', '--realm', 'shop'],
      )
    ).err,
    told,
  )
  assert.equal((await run(logout, [])).code, 0)

  await annLogsIn()
  const file = onlyFile()
  const kept = content()
  writeFileSync(file, JSON.stringify({ ...kept, facts: { ...kept.facts, expiresAt: 1_700_000_000 } }))
  const over =
    /^the login of ann of realm shop ended at 2023-11-14 22:13:20Z: log in again with warder login /
  assert.match((await run(whoami, [])).err, over)
  // Not as the first administrator, whose password lies in the home.
  assert.match(await nameAtKms(), over)
  assert.match(
    (
      await run(
        adminCommand(() => createPrompter([])),
        ['realms'],
      )
    ).err,
    over,
  )
})

test('a new login ends the session of the one before', async () => {
  const first = await annLogsIn()
  const second = await annLogsIn()
  assert.deepEqual([await bearerStatus(first), await bearerStatus(second)], [401, 200])
})

test('logins at the same time leave one whole session', async () => {
  const words = ['--realm', 'shop', '--user', 'ann']
  const ran = await Promise.all(Array.from({ length: 4 }, () => logIn(words, [annPassword])))
  assert.deepEqual(
    ran.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  assert.equal(await bearerStatus(content().token), 200)
})

test('a refused login keeps nothing, and the session before stays', async () => {
  await annLogsIn()
  const before = readFileSync(onlyFile(), 'utf8')
  assert.match(
    (await logIn(['--realm', 'shop', '--user', 'ann'], ['wrong'])).err,
    /^the login of ann to realm shop was refused/,
  )
  assert.match((await logIn(['--realm', 'shop', '--user', 'ann'])).err, /^no password: /)
  assert.equal(readFileSync(onlyFile(), 'utf8'), before)
})

describe('the file of a session', () => {
  const refuses = async (told: RegExp) => {
    for (const { code, err } of [
      await run(whoami, []),
      await runInProcess(warder, ['keys', 'list'], { env: {} }),
    ]) {
      assert.match(err, told)
      assert.equal(code, 1)
    }
  }

  test('is not used when others could have read or written it', async () => {
    await annLogsIn()
    for (const mode of [0o644, 0o620, 0o604]) {
      chmodSync(onlyFile(), mode)
      await refuses(/is accessible to other users \(mode 06\d\d\), and is not accepted: run chmod 600/)
    }
    chmodSync(onlyFile(), 0o600)
    chmodSync(join(warder.home, 'logins'), 0o777)
    await refuses(/logins is accessible to other users \(mode 0777\), and is not accepted: run chmod 700/)
  })

  test('is not used when it is a link, a folder, or in a folder that is a link', async () => {
    await annLogsIn()
    const [file, elsewhere] = [onlyFile(), join(secrets, 'elsewhere')]
    renameSync(file, elsewhere)
    symlinkSync(elsewhere, file)
    await refuses(/is a link, which is not accepted: remove it/)
    rmSync(file)
    mkdirSync(file)
    await refuses(/is not a regular file, and is not accepted: remove it/)
    const folder = join(warder.home, 'logins')
    rmSync(folder, { recursive: true })
    mkdirSync(join(secrets, 'logins'), { mode: 0o700 })
    symlinkSync(join(secrets, 'logins'), folder)
    await refuses(/logins is not a folder, and is not accepted: remove it/)
    const { code, err } = await logIn(['--realm', 'shop', '--user', 'ann'], [annPassword])
    assert.deepEqual([code, /is not a folder/.test(err)], [1, true], 'nothing is written through it')
    assert.deepEqual(readdirSync(join(secrets, 'logins')), [])
  })

  test('is not used when it holds something else', async () => {
    await annLogsIn()
    const kept = content()
    for (const text of ['', '{', 'null', '[]', '{"version":1}', JSON.stringify({ ...kept, version: 2 })]) {
      writeFileSync(onlyFile(), text)
      await refuses(/is not a file of warder login: remove it and log in again/)
    }
    writeFileSync(onlyFile(), 'x'.repeat(70_000))
    await refuses(/is too large, and is not accepted/)
  })

  test('that belongs to another user is not used', {
    skip: process.getuid?.() !== 0 && 'not root',
  }, async () => {
    await annLogsIn()
    const { chownSync } = await import('node:fs')
    chownSync(onlyFile(), 65534, 65534)
    await refuses(/belongs to another user, and is not accepted/)
  })
})

test('a session is shown to the services that it is for, and to no others', async () => {
  await annLogsIn()
  // The same home, whose services are said to be elsewhere: the session stays where it is.
  const elsewhere = await runInProcess(
    warder,
    ['keys', 'list', '--url', warder.kmsUrl.replace('127.0.0.1', 'localhost'), '--ca-file', warder.caFile],
    { env: {} },
  )
  assert.match(elsewhere.err, /^not logged in: give a token/)
  const another = await runInProcess(
    warder,
    [
      'keys',
      'list',
      '--auth-url',
      warder.authUrl.replace('127.0.0.1', 'localhost'),
      '--user',
      'ann',
      '--realm',
      'shop',
    ],
    { env: {} },
  )
  assert.match(another.err, /^not logged in/)
  // Another authority that is trusted for the same address is another service.
  const foreign = temporaryHome()
  cpSync(join(warder.home, 'endpoints.json'), join(foreign, 'endpoints.json'))
  cpSync(join(warder.home, 'logins'), join(foreign, 'logins'), { recursive: true })
  mkdirSync(join(foreign, 'tls'))
  writeFileSync(join(foreign, 'tls', 'ca.crt'), `${readFileSync(warder.caFile, 'utf8')}\n# another\n`)
  assert.match((await run(whoami, [], {}, foreign)).err, /^not logged in/)
  rmSync(foreign, { recursive: true })
})

test('services that are not of a home have sessions of their own beside it', async () => {
  const home = join(temporaryHome(), 'new')
  const places = ['--url', warder.kmsUrl, '--auth-url', warder.authUrl, '--ca-file', warder.caFile]
  const ran = await logIn([...places, '--realm', 'shop', '--user', 'ann'], [annPassword], {}, home)
  assert.equal(ran.code, 0, ran.err)
  // Without --auth-url, which every command would have to say.
  const who = await run(whoami, places.slice(0, 2).concat(places.slice(4)), {}, home)
  assert.match(who.out, /known as shop\/ann/)
  assert.equal((await run(logout, places, {}, home)).code, 0)
  rmSync(join(home, '..'), { recursive: true })
})

describe('machines', () => {
  let roleId: string
  const secretId = async (options = {}) =>
    (await asAdmin('POST', '/auth/approle/role/till/secret-id', options)).data as unknown as {
      secret_id: string
    }
  before(async () => {
    await asAdmin('POST', '/auth/approle/role/till', { token_ttl: 600 })
    roleId = (
      (await asAdmin('GET', '/auth/approle/role/till/role-id')).data as unknown as { role_id: string }
    ).role_id
  })

  test('log in with a role id and a secret id, of files or of the environment', async () => {
    const file = join(secrets, 'secret-id')
    writeFileSync(file, (await secretId()).secret_id)
    const ran = await logIn(['--approle', '--secret-id-file', file], [], { WARDER_ROLE_ID: roleId })
    assert.match(ran.out, /^logged in as till \(AppRole\), until /)
    const { token } = content()
    assert.match(token, /^wt\./)
    assert.ok(!ran.out.includes(token))
    assert.match((await run(whoami, [])).out, /known as app:till$/m)
    assert.equal(await bearerStatus(token), 200, 'a bearer token, too')
    assert.match((await run(logout, [])).out, /^till: logged out$/)
    assert.equal(await bearerStatus(token), 401)

    assert.match((await logIn(['--approle'])).err, /^no RoleID: give --role-id-file FILE/)
    const env = { WARDER_ROLE_ID: roleId, WARDER_SECRET_ID: 'wrong' }
    assert.equal(
      (await logIn(['--approle'], [], env)).err,
      'the login was refused: the RoleID or the SecretID is wrong',
    )
  })

  test('keep a token that they have; one that was revoked is told', async () => {
    const auth = warder.client('auth')
    const { secret_id } = await secretId()
    const json = { role_id: roleId, secret_id }
    const { auth: given } = (await auth.ask('/auth/approle/login', { json })).json as {
      auth: { client_token: string }
    }
    const file = join(secrets, 'machine-token')
    writeFileSync(file, given.client_token)
    assert.match((await logIn(['--token-file', file])).out, /\(machine token\), until /)
    await auth.ask('/auth/token/revoke-self', {
      method: 'POST',
      headers: { 'x-secret-token': given.client_token },
    })
    auth.close()
    assert.match((await run(whoami, [])).err, /was ended .*: log in again with warder login --approle$/)
    assert.equal((await logIn(['--token-file', file])).err, 'the token is invalid or has expired')
  })
})

test('a token of a session is kept as the session that it is; a wrong one is refused', async () => {
  const token = await annLogsIn()
  const file = join(secrets, 'session-token')
  writeFileSync(file, token)
  assert.equal((await logIn(['--token-file', file])).code, 0)
  assert.equal(content().facts.kind, 'session')
  assert.equal((await run(logout, [])).code, 0)
  assert.match((await logIn(['--token-file', file])).err, /unauthorized/)
})

test('words that exclude each other are a wrong call', async () => {
  for (const [words, told] of [
    [['--approle', '--user', 'ann'], /^--approle cannot be combined with --user$/],
    [['--token-file', 'f', '--realm', 'shop'], /^--token-file cannot be combined with --realm$/],
    [['--token-file', 'f', '--approle'], /exclude each other/],
    [['--secret-id-file', 'f'], /^--secret-id-file needs --approle$/],
    [['--approle', '--role-id-file', '-', '--secret-id-file', '-'], /^standard input can be used only once/],
    [['ann'], /^unknown argument: ann$/],
  ] as const) {
    const { code, err } = await logIn(words)
    assert.match(err, told)
    assert.equal(code, 2)
  }
})

describe('the keyring of the system', { skip: process.platform !== 'linux' && 'Linux alone' }, () => {
  /** A program that takes the place of libsecret's, which keeps its secrets in a folder and records its arguments. */
  function secretTool(script = ''): Readonly<Record<string, string>> {
    const folder = temporaryHome()
    const program = `#!/bin/sh
echo "$@" >> ${folder}/arguments
${script}
for last in "$@"; do :; done
case $1 in
  store) cat > "${folder}/secret-$last" ;;
  lookup) cat "${folder}/secret-$last" ;;
  clear) rm "${folder}/secret-$last" ;;
esac
`
    writeFileSync(join(folder, 'secret-tool'), program, { mode: 0o700 })
    return {
      PATH: `${folder}:${process.env.PATH}`,
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere',
      FOLDER: folder,
    }
  }
  const words = ['--realm', 'shop', '--user', 'ann']

  test('holds the key of the token, which the file does not hold', async () => {
    const env = secretTool()
    const { out } = await logIn(words, [annPassword], env)
    assert.match(out, /kept in .*\.json, sealed by the keyring of the desktop$/)
    assert.equal(content().token, undefined)
    assert.match((await run(whoami, [], env)).out, /^ann of realm shop/)
    assert.match((await run(whoami, [])).err, /^the keyring of this system does not return the key of /)
    const given = readFileSync(join(env.FOLDER ?? '', 'arguments'), 'utf8')
    assert.doesNotMatch(given, /[0-9a-f]{32}/, 'no secret among the arguments')

    const file = onlyFile()
    const kept = content()
    writeFileSync(file, JSON.stringify({ ...kept, facts: { ...kept.facts, username: 'bob' } }))
    assert.match((await run(whoami, [], env)).err, /^the keyring of this system does not return/)
    writeFileSync(file, JSON.stringify(kept))
    assert.equal((await run(logout, [], env)).out, 'ann of realm shop: logged out')
    assert.ok(!readdirSync(env.FOLDER ?? '').some((name) => name.startsWith('secret-login')))
  })

  test('is not used with --no-keyring, and is not needed if it does not work', async () => {
    const inFile = /which only you can read \(mode 0600\)$/
    assert.match((await logIn([...words, '--no-keyring'], [annPassword], secretTool())).out, inFile)
    for (const script of ['exit 1', '[ $1 = lookup ] && { echo other; exit; }'])
      assert.match((await logIn(words, [annPassword], secretTool(script))).out, inFile)
    assert.match((await run(whoami, [])).out, /^ann of realm shop/)
  })
})

test('a forced change of password takes a code of its own from a user with a second factor', async () => {
  const seconds = 300
  const slow = { username_password_params: byPassword, totp_params: { algorithm: 'SHA1', step: seconds } }
  await asAdmin('POST', '/admins/realms', realm('slow', slow))
  const [given, chosen] = ['the first password of both', 'amber lighthouse 4 kettles']
  const enrol = async (username: string) => {
    const password_input = { plaintext: given }
    const forced = { realm: 'slow', username, password_input, change_password: true }
    await asAdmin('POST', '/realms/slow/userpass', forced)
    const [path, about] = ['/realms/slow/totp', { username, issuer: 'warder' }]
    const { secret_base32: secret = '' } = await asAdmin('POST', `${path}/generate?realm=slow`, about)
    let used = 0
    /** The oldest code that is accepted for some seconds more and was not used. */
    const next = async (): Promise<string> => {
      used = Math.max(used + 1, Math.floor((Date.now() / 1000 + 5) / seconds) - 1)
      const earlyMs = (used - 1) * seconds * 1000 - Date.now()
      if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs + 50))
      return totp(secret, used)
    }
    const wrong = async () => {
      const present = Math.floor(Date.now() / 1000 / seconds)
      const codes = [-1, 0, 1, 2].map((offset) => totp(secret, present + offset))
      return ['000000', '000001', '000002', '000003', '000004'].find((each) => !codes.includes(each)) ?? ''
    }
    await asAdmin('POST', `${path}/verify?realm=slow`, { ...about, secret, token: await next() })
    return { words: ['--realm', 'slow', '--user', username, '--no-keyring'], next, wrong }
  }
  const yan = await enrol('yan')
  const refused = await logIn(yan.words, [given, yan.wrong])
  assert.match(refused.err, /login of yan to realm slow was refused .*with a TOTP code/)
  const unchanged = await logIn(yan.words, [given, yan.next, chosen, chosen, yan.wrong])
  assert.deepEqual([unchanged.code, /401/.test(unchanged.err)], [1, true], unchanged.err)
  assert.match((await logIn(yan.words, [chosen])).err, /was refused/, 'the password is the one of before')

  const zoe = await enrol('zoe')
  // The codes of now are used up: the login after the change takes a later one.
  const changed = await logIn(zoe.words, [given, zoe.next, chosen, chosen, zoe.next, zoe.wrong])
  assert.match(
    changed.err,
    /login of zoe to realm slow was refused .*password from the prompt, with a TOTP code/,
  )
  assert.match((await logIn(zoe.words, [given])).err, /was refused \(password from the prompt\)/)
  assert.match((await logIn(zoe.words, [chosen, zoe.wrong])).err, /with a TOTP code/)
})

test('a login leads through the change of a password that an administrator set', async () => {
  const given = 'the first password of eve'
  const chosen = 'violet harbour 7 lanterns'
  const body = { realm: 'shop', username: 'eve', password_input: { plaintext: given }, change_password: true }
  await asAdmin('POST', '/realms/shop/userpass', body)
  const words = ['--realm', 'shop', '--user', 'eve', '--no-keyring']
  const unattended = await logIn(words, [], { WARDER_PASSWORD: given })
  assert.match(unattended.err, /eve must choose a new password first: run warder login at a terminal/)
  const differ = await logIn(words, [given, chosen, `${chosen}!`])
  assert.match(differ.err, /the two passwords differ: nothing was changed/)
  const done = await logIn(words, [given, chosen, chosen])
  assert.equal(done.code, 0, done.err)
  assert.match(done.out, /logged in as eve of realm shop/)
  assert.equal((await logIn(words, [chosen])).code, 0, 'the new password is the one')
})
