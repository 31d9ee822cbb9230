import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type Answer, Authenticator, type Client, client, sharedKey, TestIdp } from '@warder/auth/testing'
import type { Prompter } from '@warder/command-line'
import { type Installation, startInstallation, temporaryHome } from '../testing/installation.ts'
import { until } from '../testing/until.ts'
import { createLoginCommand } from './login.ts'
import { logout, whoami } from './session.ts'

let warder: Installation
let auth: Client
let idp: TestIdp
let closedIdp: TestIdp
const programs = temporaryHome()

before(async () => {
  warder = await startInstallation()
  auth = client(Number(new URL(warder.authUrl).port), readFileSync(warder.caFile, 'utf8'))
  const admin = await warder.adminToken()
  const realm = async (id: string, origins: readonly string[]): Promise<TestIdp> => {
    const place = { spEntityId: `${warder.authUrl}/saml/${id}`, acsUrl: `${warder.authUrl}/saml/${id}/acs` }
    const made = new TestIdp({ key: await sharedKey('idp'), ...place })
    const saml_params = {
      metadata_xml: made.metadata(),
      sp_entity_id: place.spEntityId,
      sp_acs_url: place.acsUrl,
      allowed_return_origins: origins,
      default_return_url: 'https://app.example/',
    }
    const json = {
      ...{ id, auth_params: { saml_params } },
      ...{ session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 },
    }
    assert.equal((await auth.call('POST', '/admins/realms', { json, cookie: admin })).status, 201)
    return made
  }
  idp = await realm('staff', ['https://app.example', 'http://127.0.0.1'])
  closedIdp = await realm('closed', ['https://app.example'])
  const shop = {
    id: 'shop',
    auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
    ...{ session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 },
  }
  assert.equal((await auth.call('POST', '/admins/realms', { json: shop, cookie: admin })).status, 201)
  for (const username of ['ann', 'bob']) {
    const json = { username, password_input: { plaintext: toPassword(username) } }
    assert.ok((await auth.call('POST', '/realms/shop/userpass', { json, cookie: admin })).status < 300)
  }
})
after(async () => {
  auth.close()
  await warder.stop()
  rmSync(programs, { recursive: true, force: true })
})
beforeEach(() => rmSync(join(warder.home, 'logins'), { recursive: true, force: true }))

const noTerminal: Prompter = {
  interactive: false,
  ask: () => assert.fail('nothing is asked'),
  askSecret: () => assert.fail('nothing is asked'),
}

const toPassword = (username: string): string => `the password of ${username}`

/** Runs the command; `address` is what it wants to be opened. */
function logIn(words: readonly string[], { env = {}, withinMs = 60_000, prompter = noTerminal } = {}) {
  const [out, err]: [string[], string[]] = [[], []]
  const command = createLoginCommand(() => prompter, undefined, withinMs)
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    env,
  }
  const done = command.run(['--home', warder.home, ...words], terminal).then(
    () => '',
    (error: Error) => error.message,
  )
  const address = async (): Promise<string> => {
    await until('the address is printed', async () => err.some((line) => line.startsWith('https://')))
    return err.find((line) => line.startsWith('https://')) ?? ''
  }
  return { done, address, out: () => out.join('\n'), notes: () => err.join('\n') }
}

/** Takes the identity provider's answer to auth. @returns the answer, and the address on its page */
async function atProvider(address: string, wishes: { nameId?: string; status?: string } = {}) {
  const begun = await auth.call('GET', address.slice(warder.authUrl.length))
  assert.equal(begun.status, 302, begun.text)
  const RelayState = new URL(String(begun.headers.location)).searchParams.get('RelayState') ?? ''
  const cookie = String(begun.headers['set-cookie']?.[0]).split(';')[0] ?? ''
  const response = idp.response({ requestId: RelayState, now: Math.floor(Date.now() / 1000), ...wishes })
  const answer = await auth.call('POST', '/saml/staff/acs', {
    headers: {
      cookie,
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://idp.example',
    },
    body: `${new URLSearchParams({ SAMLResponse: Buffer.from(response).toString('base64'), RelayState })}`,
  })
  const href = /<a [^>]*href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  return { answer, href }
}

interface Shown {
  readonly status: number | undefined
  readonly text: string
}

function visit(url: string, options: { host?: string; method?: string } = {}): Promise<Shown> {
  const { host, method = 'GET' } = options
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host }
    request(url, { method, headers, agent: false }, (answer) => {
      let text = ''
      answer.on('data', (part: Buffer) => {
        text += part.toString()
      })
      answer.once('end', () => resolve({ status: answer.statusCode, text }))
    })
      .once('error', reject)
      .end()
  })
}

const returnOf = (address: string): URL => new URL(new URL(address).searchParams.get('return_to') ?? '')
const kept = (): string => {
  const folder = join(warder.home, 'logins')
  const [file] = existsSync(folder) ? readdirSync(folder) : []
  return file === undefined ? '' : JSON.parse(readFileSync(join(folder, file), 'utf8')).token
}

test('a browser logs in at the identity provider, and every command asks as that person', async () => {
  const login = logIn(['--saml', '--realm', 'staff', '--json'])
  const address = await login.address()
  assert.ok(
    address.startsWith(`${warder.authUrl}/saml/staff/login?return_to=http%3A%2F%2F127.0.0.1%3A`),
    address,
  )
  const { href } = await atProvider(address, { nameId: 'ann' })
  const shown = await visit(href)
  assert.equal(await login.done, '')
  assert.equal(shown.status, 200)
  assert.match(shown.text, /You can close this window/)
  const token = kept()
  assert.ok(token.length > 20)
  for (const text of [shown.text, login.out(), address, href]) assert.ok(!text.includes(token))
  const { username, realm, how, kind } = JSON.parse(login.out())
  assert.deepEqual([username, realm, how, kind], ['ann', 'staff', 'SAML', 'session'])
  await assert.rejects(visit(href), /ECONNREFUSED/, 'the port is closed')

  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(line), err: () => undefined, env: {} }
  assert.equal(await whoami.run(['--home', warder.home], terminal), 0)
  assert.match(lines.join('\n'), /^ann of realm staff \(SAML\), until [\s\S]* known as staff\/ann/)
  assert.equal(await logout.run(['--home', warder.home], terminal), 0)
  assert.equal((await auth.call('GET', '/whoami?realm=staff', { cookie: token })).status, 401)
})

test('what is not the answer to this login is refused, and changes nothing', async () => {
  const login = logIn(['--saml', '--realm', 'staff'])
  const address = await login.address()
  const { href } = await atProvider(address, { nameId: 'bob' })
  const own = returnOf(address)
  const state = new URL(address).searchParams.get('state') ?? ''
  const code = new URL(href).searchParams.get('code') ?? ''
  for (const query of [
    '',
    `?code=${code}`,
    `?state=${state}`,
    `?code=${code}&state=${'x'.repeat(state.length)}`,
    `?code=${code}&state=${state}x`,
    `?code=${code}&state=${state}&state=${state}`,
    `?code=${code}&code=${code}&state=${state}`,
    `?code=%0a&state=${state}`,
  ])
    assert.equal((await visit(`${own}${query}`)).status, 400, query)
  assert.equal((await visit(`${own.origin}/favicon.ico`)).status, 404)
  assert.equal((await visit(href, { host: `evil.example:${own.port}` })).status, 404)
  assert.equal((await visit(href, { method: 'POST' })).status, 405)
  assert.equal(kept(), '')
  assert.equal((await visit(href)).status, 200)
  assert.equal(await login.done, '')
  assert.match(login.out(), /^logged in as bob of realm staff \(SAML\)/)
})

test('of two answers one is taken', async () => {
  const login = logIn(['--saml', '--realm', 'staff'])
  const { href } = await atProvider(await login.address(), { nameId: 'bob' })
  const statuses = await Promise.all(
    [1, 2, 3].map(() =>
      visit(href).then(
        ({ status }) => status,
        () => 'closed',
      ),
    ),
  )
  assert.equal(statuses.filter((status) => status === 200).length, 1, `${statuses}`)
  assert.ok(
    statuses.every((status) => status === 200 || status === 410 || status === 'closed'),
    `${statuses}`,
  )
  assert.equal(await login.done, '')
})

test('a code that the service does not take keeps nothing', async () => {
  const login = logIn(['--saml', '--realm', 'staff'])
  const address = await login.address()
  const state = new URL(address).searchParams.get('state')
  assert.equal((await visit(`${returnOf(address)}?code=${'A'.repeat(43)}&state=${state}`)).status, 200)
  assert.match(await login.done, /^the service answered 401: The code is wrong, expired or used/)
  assert.equal(kept(), '')
})

test('a login that is denied at the identity provider ends when its time is over', async () => {
  const login = logIn(['--saml', '--realm', 'staff'], { withinMs: 2000 })
  const address = await login.address()
  const { answer, href } = await atProvider(address, {
    status: 'urn:oasis:names:tc:SAML:2.0:status:Responder',
  })
  assert.equal(answer.status, 401, answer.text)
  assert.equal(href, '')
  assert.match(await login.done, /^the login was not completed within 2 seconds\. If it was/)
  assert.equal(kept(), '')
  await assert.rejects(visit(`${returnOf(address)}`), /ECONNREFUSED/)
})

test('a realm that is not set up for it is reported before the command waits for a browser', async () => {
  const closed = await logIn(['--saml', '--realm', 'closed']).done
  assert.match(
    closed,
    /answered 400: .*an administrator must add http:\/\/127\.0\.0\.1 to allowed_return_origins of closed$/,
  )
  for (const realm of ['_', 'none', '../x'])
    assert.match(await logIn(['--saml', '--realm', realm]).done, /^the service answered 4\d\d: /, realm)
  assert.match(await logIn(['--saml']).done, /^--saml needs --realm R/)
  for (const words of [['--user', 'ann'], ['--approle'], ['--token-file', 'x'], ['--totp-code', '1']])
    assert.match(
      await logIn(['--saml', '--realm', 'staff', ...words]).done,
      /--saml cannot be combined with --/,
    )
  assert.match(await logIn(['--no-browser']).done, /^--no-browser needs --saml or --browser$/)
})

test('a browser is opened where there is a desktop, and not otherwise', async (t) => {
  if (process.platform !== 'linux') return t.skip('xdg-open is of Linux')
  const [program, opened] = [join(programs, 'xdg-open'), join(programs, 'opened')]
  writeFileSync(program, `#!/bin/sh\nprintf '%s' "$1" > '${opened}.new' && mv '${opened}.new' '${opened}'\n`)
  chmodSync(program, 0o755)
  const path = `${programs}:${process.env.PATH}`
  for (const [env, words] of [
    [{ PATH: path }, []],
    [{ PATH: path, DISPLAY: ':0' }, ['--no-browser']],
    [{ PATH: join(programs, 'none'), DISPLAY: ':0' }, []],
    [{ PATH: path, DISPLAY: ':0' }, []],
  ] as const) {
    const login = logIn(['--saml', '--realm', 'staff', ...words], { env, withinMs: 30_000 })
    const address = await login.address()
    const expected = env.PATH === path && 'DISPLAY' in env && words.length === 0
    if (expected) {
      await until('the browser is opened', async () => existsSync(opened))
      assert.equal(readFileSync(opened, 'utf8'), address)
    }
    const { href } = await atProvider(address, { nameId: 'ann' })
    assert.equal((await visit(href)).status, 200)
    assert.equal(await login.done, '')
    assert.equal(existsSync(opened), expected)
  }
})

/** Logs a browser in at the identity provider of a realm. @returns its session */
async function samlSession(realm: 'staff' | 'closed'): Promise<string> {
  const begun = await auth.call('GET', `/saml/${realm}/login`)
  const RelayState = new URL(String(begun.headers.location)).searchParams.get('RelayState') ?? ''
  const cookie = String(begun.headers['set-cookie']?.[0]).split(';')[0] ?? ''
  const provider = realm === 'staff' ? idp : closedIdp
  const now = Math.floor(Date.now() / 1000)
  const response = provider.response({ requestId: RelayState, now, nameId: 'eve' })
  const answer = await auth.call('POST', `/saml/${realm}/acs`, {
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded', origin: 'https://idp.example' },
    body: `${new URLSearchParams({ SAMLResponse: Buffer.from(response).toString('base64'), RelayState })}`,
  })
  const lines = answer.headers['set-cookie']?.join('\n') ?? ''
  return /^_ea_=([^;]+)/m.exec(lines)?.[1] ?? assert.fail(answer.text)
}

/** A browser at the page of auth, whose user has an authenticator. */
class PersonAtPage {
  readonly authenticator = new Authenticator({ origin: `https://localhost:${new URL(warder.authUrl).port}` })
  readonly username: string
  session = ''

  constructor(username: string) {
    this.username = username
  }

  #keep(answer: Answer): void {
    this.session = /^_ea_=([^;]+)/.exec(answer.headers['set-cookie']?.[0] ?? '')?.[1] ?? ''
    assert.notEqual(this.session, '', answer.text)
  }

  async logInWithPassword(): Promise<void> {
    const basic = `${this.username}:${toPassword(this.username)}`
    this.#keep(await auth.call('POST', '/login?realm=shop', { basic, json: {} }))
  }

  /** The header with the cookie of a challenge. */
  #answering({ headers }: Answer) {
    const challenge = headers['set-cookie']?.map((line) => line.split(';')[0]).join('; ') ?? ''
    return { cookie: this.session === '' ? challenge : `_ea_=${this.session}; ${challenge}` }
  }

  async register(): Promise<void> {
    const options = await auth.call('POST', '/account/passkeys/options', { cookie: this.session })
    const json = { name: 'Laptop', credential: this.authenticator.create(options.json) }
    const made = await auth.call('POST', '/account/passkeys', { json, headers: this.#answering(options) })
    assert.ok(made.status < 300, made.text)
  }

  async logInWithPasskey(): Promise<void> {
    this.session = ''
    const options = await auth.call('POST', '/passkeys/login/options?realm=shop')
    const json = { credential: this.authenticator.get(options.json) }
    this.#keep(
      await auth.call('POST', '/passkeys/login?realm=shop', { json, headers: this.#answering(options) }),
    )
  }

  give(address: string, more: object = { confirmed: true }): Promise<Answer> {
    const request = new URL(address).searchParams.get('request')
    return auth.call('POST', '/account/handover', { json: { request, ...more }, cookie: this.session })
  }

  /** Confirms on the page. @returns the address at the command */
  async confirm(address: string): Promise<string> {
    assert.deepEqual((await this.give(address, {})).json, { confirm: 'program' })
    return (await this.give(address)).json.location
  }
}

test('a user with a passkey logs in at the page of auth, and confirms', async () => {
  const ann = new PersonAtPage('ann')
  await ann.logInWithPassword()
  await ann.register()
  const login = logIn(['--browser', '--realm', 'shop', '--json'])
  const address = await login.address()
  const page = new URL(address)
  assert.deepEqual(
    [page.origin, page.pathname, page.searchParams.get('realm')],
    [`https://localhost:${new URL(warder.authUrl).port}`, '/ui/handover', 'shop'],
  )
  await ann.logInWithPasskey()
  const back = await ann.confirm(address)
  assert.match(back, /^http:\/\/127\.0\.0\.1:\d+\/warder-login\?code=/)
  const { status, text } = await visit(back)
  assert.equal(await login.done, '')
  assert.deepEqual([status, /You can close this window/.test(text)], [200, true])
  const token = kept()
  assert.equal(token, ann.session, 'one session')
  for (const shown of [text, login.out(), login.notes(), address, back]) assert.ok(!shown.includes(token))
  const { username, realm, how } = JSON.parse(login.out())
  assert.deepEqual([username, realm, how], ['ann', 'shop', 'passkey'])
  await assert.rejects(visit(back), /ECONNREFUSED/, 'the port is closed')
  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(line), err: () => undefined, env: {} }
  assert.equal(await logout.run(['--home', warder.home], terminal), 0)
  assert.equal((await ann.give(address)).status, 401, 'a logout here is one of the browser')
})

test('at a terminal, the command goes on in a browser when a passkey is needed', async () => {
  const asked: string[] = []
  const ask = (answer: string): Prompter => {
    const reply = async (question: string): Promise<string> => {
      asked.push(question)
      return answer
    }
    return { interactive: true, ask: reply, askSecret: reply }
  }
  const bob = new PersonAtPage('bob')
  await bob.logInWithPassword()
  await bob.register()
  const words = ['--realm', 'shop', '--user', 'bob']
  const second = logIn(words, { prompter: ask(toPassword('bob')) })
  const address = await second.address()
  assert.match(second.notes(), /the second factor of bob is a passkey, which a terminal cannot use/)
  await bob.logInWithPasskey()
  assert.equal((await visit(await bob.confirm(address))).status, 200)
  assert.equal(await second.done, '')
  assert.match(second.out(), /^logged in as bob of realm shop \(passkey\)/)
  assert.deepEqual(asked, ['Password of bob in realm shop (with a passkey: press Enter): '])

  const alone = logIn(words, { prompter: ask('') })
  await bob.logInWithPasskey()
  assert.equal((await visit(await bob.confirm(await alone.address()))).status, 200)
  assert.equal(await alone.done, '')

  const other = logIn(['--realm', 'shop', '--user', 'eve'], { prompter: ask('') })
  await bob.logInWithPasskey()
  assert.equal((await visit(await bob.confirm(await other.address()))).status, 200)
  assert.match(await other.done, /^the browser is logged in as bob, not as eve/)

  const program = await logIn(words, { env: { WARDER_PASSWORD: toPassword('bob') } }).done
  assert.match(program, /run warder login --browser --realm shop, or give a recovery code with --totp-code/)
  const wrong = await logIn(words, { prompter: ask('wrong') }).done
  assert.match(wrong, /^the login of bob to realm shop was refused/)
})

test('a realm without passwords is logged in to with a browser, if it allows programs', async () => {
  const prompter: Prompter = { ...noTerminal, interactive: true }
  for (const [realm, status] of [
    ['staff', 200],
    ['closed', 403],
  ] as const) {
    const login = logIn(['--realm', realm], { prompter, withinMs: status === 200 ? 60_000 : 2000 })
    const address = await login.address()
    assert.match(login.notes(), new RegExp(`^the realm ${realm} has no passwords:`))
    const session = await samlSession(realm)
    const request = new URL(address).searchParams.get('request')
    for (const confirmed of [false, true]) {
      const given = await auth.call('POST', '/account/handover', {
        json: { request, confirmed },
        cookie: session,
      })
      assert.equal(given.status, status, given.text)
      if (status === 403) assert.match(given.json.description, /allowed_return_origins/)
      else if (confirmed) assert.equal((await visit(given.json.location)).status, 200)
    }
    const failed = await login.done
    assert.match(failed, status === 200 ? /^$/ : /^the login was not completed/)
  }
})

test('a session of another realm than the requested one is refused, and keeps nothing', async () => {
  const ann = new PersonAtPage('ann')
  const login = logIn(['--browser', '--realm', '_'])
  ann.session = await samlSession('staff')
  const back = await ann.confirm(await login.address())
  assert.equal((await visit(back.replace(/&realm=\w+/, '&realm=../x'))).status, 400)
  assert.equal((await visit(back)).status, 200)
  assert.match(
    await login.done,
    /^the browser is logged in to the realm staff, not to _: choose "Log in as another user"/,
  )
  assert.equal(kept(), '')
  for (const words of [['--user', 'ann'], ['--approle'], ['--token-file', 'x'], ['--totp-code', '1']])
    assert.match(await logIn(['--browser', ...words]).done, /--browser cannot be combined with --/)
  assert.match(
    await logIn(['--saml', '--browser', '--realm', 'staff']).done,
    /--saml cannot be combined with --browser/,
  )
})
