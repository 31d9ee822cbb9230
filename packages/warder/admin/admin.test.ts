import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Prompter, UsageError } from '@warder/command-line'
import type { Answer } from '@warder/command-line/https-client'
import { type Installation, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { adminCommand } from './command.ts'

const home = temporaryHome()
let warder: Installation

const nobody: Prompter = {
  interactive: false,
  ask: () => Promise.reject(new Error('asked')),
  askSecret: () => Promise.reject(new Error('asked')),
}

/** Somebody at the terminal who gives these answers; `asked` are the questions. */
function person(...answers: string[]): Prompter & { readonly asked: string[] } {
  const asked: string[] = []
  const ask = async (question: string): Promise<string> => {
    asked.push(question)
    return answers.shift() ?? ''
  }
  return { interactive: true, asked, ask, askSecret: ask }
}

/** Runs `warder admin` in this process. @returns what it printed, or the error's line with its code */
async function run(words: string[], prompter = nobody, env: Record<string, string> = {}) {
  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(line), err: () => {}, env }
  try {
    await adminCommand(() => prompter).run(['--home', home, ...words], terminal)
    return { failed: '', out: lines.join('\n') }
  } catch (error) {
    assert.ok(error instanceof Error)
    const failed = `${error instanceof UsageError ? 'usage: ' : ''}${error.message}`
    return { failed, out: lines.join('\n') }
  }
}

async function json(words: string[]) {
  const { failed, out } = await run([...words, '--json', '--yes'])
  assert.equal(failed, '')
  return JSON.parse(out)
}

async function call(path: string, basic: string, body: unknown = {}, method = 'POST'): Promise<Answer> {
  const client = warder.client('auth')
  const authorization = `Basic ${Buffer.from(basic).toString('base64')}`
  const answer = await client.ask(path, { method, json: body, headers: { authorization } })
  client.close()
  return answer
}

const logIn = (basic: string, realm = 'shop', body: unknown = {}) =>
  call(`/login?realm=${realm}`, basic, body)

/** A call of the first administrator that the command has no verb for. */
async function asAdmin(method: string, path: string, body?: unknown): Promise<Answer> {
  const client = warder.client('auth')
  const login = await logIn(`admin:${warder.password}`, '_')
  const cookie = [login.headers['set-cookie']].flat()[0]?.split(';')[0] ?? ''
  const answer = await client.ask(path, { method, headers: { cookie }, ...(body ? { json: body } : {}) })
  client.close()
  return answer
}

/** RFC 6238, SHA-1, 30 seconds. */
function code(secret: string, step = Math.floor(Date.now() / 30_000)): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

before(async () => {
  warder = await startInstallation({
    home,
    env: { AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '1000', AUTH_LOGIN_RATE_LIMIT_BURST: '10000' },
  })
  const realm = {
    id: 'shop',
    auth_params: { username_password_params: { allow_expired_passwords: false } },
    session_max_age_seconds: 3600,
    session_max_stale_age_seconds: 600,
  }
  assert.equal((await asAdmin('POST', '/admins/realms', realm)).status, 201)
})
after(async () => {
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
})

describe('warder admin', () => {
  it('lists realms as a table for people and as JSON for programs', async () => {
    const { out } = await run(['realms'])
    assert.match(out, /^REALM +LOGIN BY +SESSION +IDLE\n_ +password .*\nshop +password +3600 s +600 s$/)
    assert.deepEqual(
      (await json(['realms'])).map(({ id }: { id: string }) => id),
      ['_', 'shop'],
    )
    const spawned = await runWarder(['admin', 'realms', '--home', home, '--json'])
    assert.equal(spawned.code, 0, spawned.err)
    assert.deepEqual(JSON.parse(spawned.out), await json(['realms']))
  })

  it('adds a user who then has to choose a password, lists, resets and deletes them', async () => {
    const added = await json(['add-user', 'ann', '--realm', 'shop', '--role', 'seller', '--role', 'night'])
    assert.deepEqual([added.username, added.roles, added.change_password], ['ann', ['seller', 'night'], true])
    const first = await logIn(`ann:${added.password}`)
    assert.equal((first.json as { next_step: string }).next_step, 'ChangePassword')
    assert.match((await run(['users', '--realm', 'shop'])).out, /^ann +seller, night +must change it$/m)
    assert.match((await run(['add-user', 'ann', '--realm', 'shop'])).failed, /409: .*exists/)

    const file = join(home, 'new-password')
    writeFileSync(file, 'an agreed password\n')
    const claims = { extra_claims: { branch: 'Lyon' }, roles: ['seller'] }
    assert.equal((await asAdmin('PUT', '/realms/shop/userpass/ann', claims)).status, 200)
    const reset = ['reset-password', 'ann', '--realm=shop', '--new-password-file', file, '--keep-password']
    assert.match((await run(reset)).failed, /nothing was changed: confirmation needs a terminal/)
    assert.match((await run(reset, person('n'))).failed, /^nothing was changed$/)
    assert.match((await run(reset, person(''))).failed, /^nothing was changed$/)
    const asker = person('y')
    const done = await run(reset, asker)
    assert.equal(done.failed, '')
    assert.deepEqual(asker.asked, [
      'Replace the password of ann of realm shop and end their sessions? [y/N] ',
    ])
    assert.ok(!done.out.includes('an agreed password'))
    const [user] = await json(['users', '--realm', 'shop'])
    assert.deepEqual(
      [user.roles, user.extra_claims, user.change_password],
      [['seller'], { branch: 'Lyon' }, false],
    )
    assert.equal((await logIn('ann:an agreed password')).status, 200)

    assert.deepEqual(await json(['delete-user', 'ann', '--realm', 'shop']), {
      deleted: { realm: 'shop', username: 'ann' },
      kms: { user: 'shop/ann', owned: 0, granted: 0, heir: null },
    })
    assert.equal((await logIn('ann:an agreed password')).status, 401)
    for (const verb of ['delete-user', 'reset-password']) {
      assert.match((await run([verb, 'ann', '--realm', 'shop', '--yes'])).failed, /there is no user ann/)
    }
    assert.deepEqual(await json(['users', '--realm', 'shop']), [])
  })

  it('lists and ends sessions: by id, of a user, of a realm; its own ends with it', async () => {
    const bob = (await json(['add-user', 'bob', '--realm', 'shop', '--keep-password'])).password
    const eve = (await json(['add-user', 'eve', '--realm', 'shop', '--keep-password'])).password
    for (const basic of [`bob:${bob}`, `bob:${bob}`, `eve:${eve}`]) await logIn(basic)
    const list = async () =>
      (await json(['sessions', '--realm', 'shop'])) as { username: string; session_id: string }[]
    assert.deepEqual(
      (await list()).map(({ username }) => username),
      ['bob', 'bob', 'eve'],
    )
    assert.match((await run(['sessions', '--realm', 'shop', '--user', 'eve'])).out, /^eve +up +\d{4}-.*Z/m)
    const [one] = await list()
    await run(['end-sessions', one?.session_id ?? ''], person('yes'))
    assert.equal((await list()).length, 2)
    assert.match(
      (await run(['end-sessions', '--realm', 'shop', '--user', 'bob', '--yes'])).out,
      /ended 1 session of bob/,
    )
    assert.deepEqual(
      (await list()).map(({ username }) => username),
      ['eve'],
    )
    await run(['end-sessions', '--realm', 'shop', '--all', '--yes'])
    assert.equal((await run(['sessions', '--realm', 'shop'])).out, 'there are no sessions')
    await asAdmin('DELETE', '/sessions/realms/_')
    const mine = (await json(['sessions', '--realm', '_'])) as unknown[]
    assert.equal(mine.length, 1, 'the session of this very run, none of those before')
  })

  it('lists, assigns and releases the names that belong to identity providers', async () => {
    const idp = 'https://idp.example'
    const providers = [{ jwt_issuer_uri: idp, jwks_uri: `${idp}/keys` }]
    const realm = {
      id: 'club',
      auth_params: { jwt_params: { idp_params: providers } },
      session_max_age_seconds: 3600,
      session_max_stale_age_seconds: 600,
    }
    assert.equal((await asAdmin('POST', '/admins/realms', realm)).status, 201)
    const at = ['--realm', 'club']
    assert.match((await run(['jwt-subjects', ...at])).out, /no name is bound/)
    assert.match((await run(['assign-jwt-subject', 'ann', ...at])).failed, /^usage: --issuer is required/)
    const wrong = ['assign-jwt-subject', 'ann', ...at, '--issuer', 'https://other.example', '--yes']
    assert.match((await run(wrong)).failed, /400: jwt_issuer_uri/)
    const given = ['assign-jwt-subject', 'ann', ...at, '--issuer', idp]
    assert.match((await run(given, person('n'))).failed, /^nothing was changed$/)
    const asker = person('y')
    assert.match((await run(given, asker)).out, /^ann of realm club is bound to https:\/\/idp.example$/)
    assert.match(asker.asked.join(), /If it is bound to another provider, its sessions end/)
    assert.match((await run(['jwt-subjects', ...at])).out, /^ann +https:\/\/idp.example +assigned +\d{4}-/m)
    assert.deepEqual(await json(['release-jwt-subject', 'ann', ...at]), {
      released: { realm: 'club', subject: 'ann' },
    })
    assert.deepEqual(await json(['jwt-subjects', ...at]), [])
  })

  it('makes an AppRole whose ids a machine can use at once, gives more secret ids, and deletes it', async () => {
    const role = await json([
      'add-approle',
      'till',
      '--realm',
      'shop',
      '--policy',
      'sales',
      '--token-ttl',
      '60',
      '--secret-id-uses',
      '1',
    ])
    const client = warder.client('auth')
    const use = async (secret_id: string) =>
      client.ask('/auth/approle/login', { json: { role_id: role.role_id, secret_id } })
    const machine = (await use(role.secret_id)).json as {
      auth: { policies: string[]; lease_duration: number }
    }
    assert.deepEqual([machine.auth.policies, machine.auth.lease_duration], [['sales'], 60])
    assert.equal((await use(role.secret_id)).status, 403)
    assert.match((await run(['add-approle', 'till', '--realm', 'shop'])).failed, /already/)
    const more = await run(['new-secret-id', 'till'])
    const [, secret = ''] = /^secret id: (\S+)/m.exec(more.out) ?? []
    assert.equal((await use(secret)).status, 200)
    assert.equal((await use(secret)).status, 200, 'this one has no limit')
    assert.deepEqual(await json(['approles']), ['till'])
    assert.match((await run(['delete-approle', 'till'], person('y'))).out, /deleted/)
    assert.equal((await use(secret)).status, 400)
    assert.match((await run(['delete-approle', 'till', '--yes'])).failed, /no AppRole till/)
    client.close()
  })

  it('asks for the code of an administrator with a second factor, and takes the one of another user away', async () => {
    const { password } = await json(['add-user', 'chief', '--realm', '_', '--keep-password'])
    assert.equal(
      (await asAdmin('POST', '/admins', { id: 'chief', realms: ['shop'], userpass: 'chief' })).status,
      201,
    )
    const made = await asAdmin('POST', '/realms/_/totp/generate?realm=_', { username: 'chief', issuer: 'w' })
    const secret = (made.json as { secret_base32: string }).secret_base32
    const step = Math.floor(Date.now() / 30_000)
    const proof = { username: 'chief', token: code(secret, step), secret, issuer: 'w' }
    assert.equal((await asAdmin('POST', '/realms/_/totp/verify?realm=_', proof)).status, 200)
    const chief = ['realms', '--admin', 'chief']
    const env = { WARDER_ADMIN_PASSWORD: password }
    assert.match((await run(chief, nobody, env)).failed, /--totp-code/)
    assert.match(
      (await run([...chief, '--totp-code', '12345'], nobody, env)).failed,
      /refused .*with a TOTP code/,
    )
    const asker = person(code(secret, step + 1))
    assert.match((await run(chief, asker, env)).out, /^shop/m)
    assert.deepEqual(asker.asked, ['TOTP code of chief: '])
    assert.match(
      (await run(['disable-totp', 'chief', '--realm', '_'], person('y'))).out,
      /without a TOTP code/,
    )
    assert.match((await run(chief, nobody, env)).out, /^shop/m)
    assert.match((await run(['users', '--realm', '_', '--admin', 'chief'], nobody, env)).failed, /403/)
  })

  it('finds the password in a file, the environment, the home or at the prompt, and says which one was wrong', async () => {
    const file = join(home, 'password')
    writeFileSync(file, readFileSync(join(home, 'initial-admin-password')))
    const failed = async (words: string[], env = {}, prompter = nobody) =>
      (await run(['realms', ...words], prompter, env)).failed
    assert.equal(await failed(['--password-file', file], { WARDER_ADMIN_PASSWORD: 'not used' }), '')
    assert.match(await failed([], { WARDER_ADMIN_PASSWORD: 'wrong' }), /password from WARDER_ADMIN_PASSWORD/)
    assert.match(await failed(['--admin', 'other']), /no password: give --password-file/)
    assert.match(await failed(['--admin', 'other'], {}, person('x')), /refused \(password from the prompt\)/)
    assert.match(await failed(['--password-file', join(home, 'none')]), /none: no such file or directory/)
    writeFileSync(file, 'two\nlines\n')
    assert.match(await failed(['--password-file', file]), /must contain exactly one line/)
    assert.equal(await failed([], {}, person()), '')
  })

  it('says in one line what was called wrongly or cannot be reached, before it asks for a password', async () => {
    const reachable = ['realms', '--password-file', join(home, 'initial-admin-password'), '--url']
    const wrong: [string[], RegExp, string?][] = [
      [[], /^usage: missing verb: realms, /],
      [['fly'], /^usage: there is no verb 'fly'/],
      [['users'], /^usage: --realm is required/],
      [['users', '--realm', 'shop', 'x'], /^usage: unknown argument: x/],
      [['users', '--realm', 'shop', '--all'], /^usage: unknown option: --all/],
      [['add-user', '--realm', 'shop'], /^usage: name the user/],
      [['add-user', 'a', 'b', '--realm', 'shop'], /^usage: unknown argument: b/],
      [['add-user', 'a', '--realm', 'shop', '--role'], /^usage: --role needs a value/],
      [['end-sessions'], /^usage: name the sessions/],
      [['end-sessions', '--all', '--user', 'x', '--realm', 'shop'], /^usage: name the sessions/],
      [['end-sessions', '--all'], /^usage: --realm is required/],
      [
        ['add-approle', 'x', '--realm', 'shop', '--token-ttl', '-1'],
        /^usage: --token-ttl must be a whole number/,
      ],
      [['realms', '--url', 'http://x'], /^usage: --url must have the form/],
      [['realms', '--url', 'https://127.0.0.1:1'], /no password: give/, 'that of the home is not for others'],
      [
        [...reachable, 'https://127.0.0.1:1'],
        /authentication service: .* cannot be reached: .*check that it is running/,
      ],
      [['realms', '--ca-file', '/nowhere'], /does not exist/],
      [['users', '--realm', 'nowhere'], /404: There is no such realm/],
      [['users', '--realm', '../x'], /400: /],
      [['add-user', '--realm', 'shop', '--', '-x '], /400: username/],
    ]
    for (const [words, expected, why = words.join(' ')] of wrong)
      assert.match((await run(words)).failed, expected, why)
    const help = await runWarder(['admin', '--help'])
    for (const word of ['add-user', '--password-file', '--json', '--yes', 'Example:']) {
      assert.ok(help.out.includes(word), word)
    }
    const spawned = await runWarder(['admin', 'delete-user', 'x', '--home', home])
    assert.deepEqual([spawned.code, spawned.out], [2, ''])
  })
})
