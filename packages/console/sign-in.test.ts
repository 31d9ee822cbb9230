import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { codeAt, fromBase32, sharedKey, TestIdp } from '@warder/auth/testing'
import { type Console, missingChromium, type OpenPage, startConsole } from './testing/console.ts'

describe('the login of the console', { skip: missingChromium }, () => {
  let started: Console
  before(async () => {
    started = await startConsole()
  })
  after(() => started[Symbol.asyncDispose]())

  /** Types a name and a password at auth. */
  async function typePassword(
    { page, goTo }: OpenPage,
    username: string,
    password: string,
    path = '/ui/login?realm=_',
  ): Promise<void> {
    await goTo('auth', path)
    await page.getByLabel('Username').fill(username)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
  }

  it('logs a user in with a password, shows who it is, and logs out, in light and dark', async () => {
    const { password } = started.installation
    for (const colorScheme of ['light', 'dark'] as const) {
      await using opened = await started.open({ colorScheme })
      const { page } = opened
      await opened.goTo('auth', '/')
      assert.equal(new URL(page.url()).pathname, '/ui/login')
      await opened.assertAccessible()
      await page.getByLabel('Realm').fill('_')
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByLabel('Username').fill('admin')
      await page.getByLabel('Password').fill('wrong')
      await page.getByRole('button', { name: 'Log in', exact: true }).click()
      await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
      await opened.assertAccessible()
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Log in', exact: true }).click()
      // A new installation begins with its first steps.
      await page.getByRole('button', { name: 'Not now' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.locator('dd').filter({ hasText: 'admin' }).first().waitFor()
      assert.equal(await page.title(), 'Overview – Warder')
      await opened.assertAccessible()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('Realm').waitFor()
      const cookies = await opened.context.cookies()
      assert.deepEqual(
        cookies.filter(({ name }) => name === '_ea_'),
        [],
      )
      opened.assertNoErrors()
    }
  })

  it('requires the change of a password, and shows the advice of the service', async () => {
    await started.admin('auth', 'POST', '/admins/realms', {
      id: 'shop',
      auth_params: { username_password_params: { allow_expired_passwords: false } },
      ...{ session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 },
    })
    const password = await started.createUser('carl', { realm: 'shop', mustChange: true })
    await using opened = await started.open()
    const { page } = opened
    await typePassword(opened, 'carl', password, '/ui/login?realm=shop')
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await opened.assertAccessible()
    const change = async (first: string, again: string): Promise<void> => {
      await page.getByLabel('New password', { exact: true }).fill(first)
      await page.getByLabel('New password, again').fill(again)
      await page.getByRole('button', { name: 'Change the password and log in' }).click()
    }
    await change('tidal gravel lantern', 'another')
    await page.getByRole('alert').filter({ hasText: 'differ' }).waitFor()
    await change('password', 'password')
    await page.getByRole('alert').filter({ hasText: 'password' }).waitFor()
    await change('tidal gravel lantern', 'tidal gravel lantern')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    opened.assertNoErrors()
  })

  it('asks for a second factor: a code, or a passkey', async () => {
    const password = await started.createUser('dora')
    await using opened = await started.open()
    const { page } = opened
    await typePassword(opened, 'dora', password)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const secret = (await page.evaluate(
      `fetch('/account/totp/options', { method: 'POST' }).then((answer) => answer.json())`,
    )) as {
      readonly secret_base32: string
      readonly enrollment: string
    }
    const key = fromBase32(secret.secret_base32) ?? Buffer.alloc(0)
    const step = Math.floor(Date.now() / 30_000)
    const body = JSON.stringify({ enrollment: secret.enrollment, code: codeAt(key, step - 1, 'SHA1') })
    const enrolled =
      await page.evaluate(`fetch('/account/totp', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(body)} }).then((answer) => answer.status)`)
    assert.equal(enrolled, 200)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Realm').waitFor()

    await typePassword(opened, 'dora', password)
    await page.getByRole('heading', { name: 'Second factor' }).waitFor()
    await opened.assertAccessible()
    await page.getByLabel('Code').fill('000000')
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'code' }).waitFor()
    await page.getByLabel('Code').fill(codeAt(key, Math.floor(Date.now() / 30_000), 'SHA1'))
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    opened.assertNoErrors()
  })

  it('logs in to the key management service with the session of auth, and returns to the room', async () => {
    const password = await started.createUser('erik')
    await using opened = await started.open()
    const { page } = opened
    await opened.goTo('kms', '/ui/keys?state=Active')
    await opened.assertAccessible()
    await page.getByRole('link', { name: 'Log in' }).click()
    await page.getByLabel('Realm').fill('_')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByLabel('Username').fill('erik')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    const { pathname, search, origin } = new URL(page.url())
    assert.deepEqual([origin, pathname, search], [started.origins.kms, '/ui/keys', '?state=Active'])
    await opened.assertAccessible()

    // One session: its end at the kms ends it at auth.
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await opened.goTo('auth', '/ui/overview')
    await page.getByLabel('Realm').waitFor()
    opened.assertNoErrors()
  })

  it('says why a login at the key management service was refused, and what to do', async () => {
    await using opened = await started.open()
    const { page } = opened
    const assertProblem = async (path: string, text: RegExp): Promise<void> => {
      await page.goto(`${started.origins.kms}${path}`)
      await page.getByRole('alert').filter({ hasText: text }).waitFor()
      // The address with the code is gone, also from the history.
      assert.equal(new URL(page.url()).pathname, '/ui/login')
      await page.getByRole('link', { name: 'Log in', exact: true }).waitFor()
    }
    const code = 'A'.repeat(43)
    await assertProblem(`/ui/handover_callback?code=${code}&state=x&realm=_`, /another browser/)
    await opened.assertAccessible()
    assert.ok(!(await page.content()).includes(code))
    await page.getByRole('link', { name: 'Log in', exact: true }).click()
    await page.getByLabel('Realm').waitFor()
    await assertProblem(
      `/ui/handover_callback?code=${code}&state=x&realm=_`,
      /meanwhile, perhaps in another tab/,
    )
    await assertProblem('/ui/login_handover?to=//evil.example', /not valid/)
    await page.goto(`${started.origins.kms}/ui/login?problem=constructor`)
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    opened.assertNoErrors()
  })

  it('asks before a program on this computer gets the session', async () => {
    const password = await started.createUser('ines')
    let visited = 0
    await using program = createServer((_request, response) => {
      visited += 1
      response.end('done')
    })
    await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve))
    const { port } = program.address() as AddressInfo
    const client = started.installation.client('auth')
    const state = 's'.repeat(16)
    const json = { return_to: `http://127.0.0.1:${port}/login`, state, code_challenge: 'c'.repeat(43) }
    const { page: address } = JSON.parse((await client.ask('/handover/program', { json })).text)
    client.close()
    await using opened = await started.open()
    const { page } = opened
    const path = `${new URL(address).pathname}${new URL(address).search}&realm=_`
    await typePassword(opened, 'ines', password, path)
    await page.getByRole('heading', { name: 'A program wants to act as you' }).waitFor()
    await page.getByText('_/ines').first().waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Refuse' }).click()
    await page.getByText('The program gets no session.').waitFor()
    assert.equal(visited, 0)
    await opened.goTo('auth', path)
    await page.getByRole('button', { name: 'Log in as another user' }).click()
    await page.getByLabel('Username').waitFor()
    await typePassword(opened, 'ines', password, path)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.waitForURL(`http://127.0.0.1:${port}/login?code=*&state=${state}&realm=_`)
    assert.ok(visited > 0)
  })

  it('goes to no other origin after a login, whatever the address says', async () => {
    const { password } = started.installation
    for (const to of [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example',
      'javascript:alert(1)',
      '/ui/../login',
      '/swagger',
    ]) {
      await using opened = await started.open()
      const { page } = opened
      await typePassword(opened, 'admin', password, `/ui/login?${new URLSearchParams({ realm: '_', to })}`)
      await page.getByRole('heading', { name: 'First steps' }).waitFor()
      assert.ok(page.url().startsWith(`${started.origins.auth}/ui/first-steps`), to)
      opened.assertNoErrors()
    }
  })

  it('shows hostile names as text', async () => {
    const hostile = '<img src=x onerror=alert(1)>'
    const password = await started.createUser(hostile)
    await using opened = await started.open()
    const { page } = opened
    page.on('dialog', () => assert.fail('a script of a name ran'))
    await opened.goTo('auth', `/ui/login?${new URLSearchParams({ realm: hostile })}`)
    await page.getByRole('alert').waitFor()
    await opened.assertAccessible()
    await typePassword(opened, hostile, password)
    await page.locator('dd').filter({ hasText: hostile }).waitFor()
    assert.equal(await page.locator('img').count(), 0)
    await opened.assertAccessible()
  })

  it('shows the login when the session ends in the middle, and returns to the room afterwards', async () => {
    const password = await started.createUser('frida')
    await using opened = await started.open()
    const { page } = opened
    await typePassword(opened, 'frida', password)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await started.admin('auth', 'DELETE', '/realms/_/userpass/frida')
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))')
    await page.getByLabel('Realm').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('to'), '/ui/overview')
    opened.assertNoErrors()
  })

  it('logs in with a passkey alone, and with one after the password', async () => {
    await started.admin('auth', 'POST', '/admins/realms', {
      id: 'lab',
      auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
      ...{ session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 },
    })
    const password = await started.createUser('hanna', { realm: 'lab' })
    await using opened = await started.open()
    const { page } = opened
    const devTools = await opened.context.newCDPSession(page)
    await devTools.send('WebAuthn.enable')
    const kind = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const
    const verified = { hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true }
    await devTools.send('WebAuthn.addVirtualAuthenticator', { options: { ...kind, ...verified } })
    await typePassword(opened, 'hanna', password, '/ui/login?realm=lab')
    await page.locator('dd').filter({ hasText: 'hanna' }).waitFor()
    const registered = await page.evaluate(registerPasskey)
    assert.equal(registered, 201)
    const logOut = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('Realm').waitFor()
    }
    await logOut()

    await opened.goTo('auth', '/ui/login?realm=lab')
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Log in with a passkey' }).click()
    await page.locator('dd').filter({ hasText: 'hanna' }).waitFor()
    await logOut()

    await typePassword(opened, 'hanna', password, '/ui/login?realm=lab')
    await page.getByRole('heading', { name: 'Second factor' }).waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.locator('dd').filter({ hasText: 'hanna' }).waitFor()
    opened.assertNoErrors()
  })

  it('logs in at the identity provider of a realm, for the key management service as well', async () => {
    const at = `${started.origins.auth}/saml/staff`
    const idp = new TestIdp({ key: await sharedKey('idp'), spEntityId: at, acsUrl: `${at}/acs` })
    const saml_params = {
      ...{ metadata_xml: idp.metadata(), sp_entity_id: at, sp_acs_url: `${at}/acs` },
      ...{ allowed_return_origins: ['https://app.example'], default_return_url: 'https://app.example/' },
    }
    await started.admin('auth', 'POST', '/admins/realms', {
      ...{ id: 'staff', auth_params: { saml_params } },
      ...{ session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 },
    })
    await using opened = await started.open()
    const { page } = opened
    await page.route('https://idp.example/**', async (route) => {
      const RelayState = new URL(route.request().url()).searchParams.get('RelayState') ?? ''
      const now = Math.floor(Date.now() / 1000)
      const response = idp.response({ requestId: RelayState, now, nameId: 'ida' })
      const fields = { SAMLResponse: Buffer.from(response).toString('base64'), RelayState }
      const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)
      const form = `<form method="post" action="${at}/acs">${inputs.join('')}</form><script>document.forms[0].submit()</script>`
      await route.fulfill({ contentType: 'text/html', body: form })
    })
    await opened.goTo('kms', '/ui/overview')
    await page.getByRole('link', { name: 'Log in', exact: true }).click()
    await page.getByLabel('Realm').fill('staff')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('link', { name: 'Log in at the identity provider' }).click()
    await page.locator('dd').filter({ hasText: 'staff/ida' }).waitFor()
    assert.equal(page.url(), `${started.origins.kms}/ui/overview`)
    opened.assertNoErrors()
  })
})

/** What a page does that registers a passkey. */
const registerPasskey = `(async () => {
  const post = (path, body) =>
    fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const options = await (await fetch('/account/passkeys/options', { method: 'POST' })).json()
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = (await navigator.credentials.create({ publicKey })).toJSON()
  return (await post('/account/passkeys', { name: 'laptop', credential })).status
})()`
