import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sharedKey, TestIdp } from '@warder/auth/testing'
import type { Page } from 'playwright-core'
import { type Console, missingChromium, type OpenPage, startConsole } from './testing/console.ts'

const ages = { session_max_age_seconds: 28_800, session_max_stale_age_seconds: 1800 }
const passwordOfAnn = 'the long password of ann'
const hostile = '<img src=x onerror=alert(1)>'
const formula = '=1+cmd|calc'
const idp = 'https://idp.example/metadata'

describe('the rooms for people and machines', { skip: missingChromium }, () => {
  let console: Console
  /** A super administrator. */
  let chief: OpenPage
  /** The administrator of the realm shop. */
  let ann: OpenPage
  let call: (method: string, path: string, json?: unknown) => Promise<string>

  before(async () => {
    console = await startConsole()
    const { installation } = console
    const headers = { cookie: `_ea_=${await installation.adminToken()}` }
    call = async (method, path, json) => {
      const auth = installation.client('auth')
      const { status, text } = await auth.ask(path, { method, headers, ...(json !== undefined && { json }) })
      auth.close()
      assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
      return text
    }
    const auth_params = { username_password_params: { allow_expired_passwords: false } }
    for (const id of ['shop', 'club']) await call('POST', '/admins/realms', { id, auth_params, ...ages })
    const password_input = { plaintext: passwordOfAnn }
    for (const username of ['ann', 'ben', hostile, formula, '--all'])
      await call('POST', '/realms/shop/userpass', { username, roles: [hostile, 'seller'], password_input })
    await call('POST', '/admins', { id: 'shop admin', realms: ['shop'], userpass: 'ann' })
    await call('POST', '/admins', { id: `${hostile} of club`, realms: ['club'], userpass: hostile })
    await call('POST', '/auth/approle/role/till?realm=shop', {
      token_policies: [hostile],
      secret_id_ttl: 600,
    })
    await call('POST', '/auth/approle/role/bar?realm=club', {})
    await call('POST', '/auth/kubernetes/role/pods?realm=shop', {
      jwks_url: 'https://k8s.example/keys',
      bound_service_account_names: [hostile],
      bound_service_account_namespaces: ['*'],
    })
    chief = await console.open()
    await chief.logIn('_', 'admin', installation.password)
    ann = await console.open({ width: 375, colorScheme: 'dark' })
    await ann.logIn('shop', 'ann', passwordOfAnn)
  })
  after(async () => {
    await console?.[Symbol.asyncDispose]()
  })

  const open = (page: Page, title: string) => page.locator('summary', { hasText: title }).click()
  const confirm = (page: Page, verb: string) =>
    page.getByRole('alertdialog').getByRole('button', { name: verb, exact: true }).click()
  const command = (page: Page, text: string) =>
    page.locator('code').filter({ hasText: text }).first().waitFor()
  const told = (page: Page, text: string) => page.locator('.toast', { hasText: text }).first().waitFor()

  /** The value of a secret that is shown once, after its show button. */
  async function readSecret(page: Page, label: string): Promise<string> {
    const secret = page.getByRole('region', { name: label, exact: true })
    await secret.waitFor()
    assert.match(await secret.locator('code').innerText(), /^•+$/)
    await secret.getByRole('button', { name: 'Show' }).click()
    return secret.locator('code').innerText()
  }

  /** Leaves the room, returns with the back button of the browser, and looks for the secret everywhere. */
  async function assertForgotten(page: Page, secret: string): Promise<void> {
    const { origin, pathname, search } = new URL(page.url())
    assert.ok(!page.url().includes(secret))
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goBack()
    await page.locator('summary').first().waitFor()
    assert.equal(page.url(), `${origin}${pathname}${search}`)
    const stored = await page.evaluate(`JSON.stringify([
      document.documentElement.outerHTML, Object.entries(localStorage), Object.entries(sessionStorage), history.state,
    ])`)
    assert.ok(!String(stored).includes(secret))
  }

  it('creates, changes and deletes a realm, and names what ends', async () => {
    const { page } = chief
    await chief.goTo('auth', '/ui/realms')
    await page.getByRole('link', { name: 'club', exact: true }).waitFor()
    await open(page, 'Create a realm')
    await page.getByLabel('Realm', { exact: true }).fill('staff')
    await page.getByLabel('Passkey').check()
    await command(
      page,
      'warder admin create-realm staff --login password --login passkey --session-seconds 28800',
    )
    await chief.assertAccessible()
    await page.getByRole('button', { name: 'Create a realm' }).click()
    await page.getByRole('link', { name: 'staff', exact: true }).click()
    await page.getByRole('heading', { name: 'Realm staff' }).waitFor()
    await page.locator('dd', { hasText: 'Password, Passkey' }).waitFor()
    await page.locator('dd', { hasText: '8 hours' }).waitFor()

    await open(page, 'Change the realm')
    await page.getByLabel('Passkey').uncheck()
    await page.getByLabel('A session ends if it is not used for').fill('600')
    await command(page, 'warder admin change-realm staff --no-login passkey --idle-seconds 600')
    await page.getByRole('button', { name: 'Change the realm' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('Login by Passkey ends').waitFor()
    await chief.assertAccessible()
    await confirm(page, 'Change the realm')
    await told(page, 'The realm was changed')
    await page.locator('dd', { hasText: '10 minutes' }).waitFor()
    await page.locator('summary:focus', { hasText: 'Change the realm' }).waitFor()
    assert.equal(await page.locator('dd', { hasText: 'Passkey' }).count(), 0)

    await call('POST', '/realms/staff/userpass', {
      username: 'eve',
      password_input: { plaintext: 'x'.repeat(20) },
    })
    await call('POST', '/auth/approle/role/robot?realm=staff', {})
    await page.getByRole('button', { name: 'Delete the realm' }).click()
    await dialog.getByText('Users with a password are deleted: 1').waitFor()
    await dialog.getByText('with their SecretIDs and tokens: 1').waitFor()
    await dialog.getByText('warder admin delete-realm staff').waitFor()
    await confirm(page, 'Delete the realm')
    await page.getByRole('heading', { name: 'Realms' }).waitFor()
    await told(page, 'The realm was deleted')
    await page.getByRole('link', { name: 'club', exact: true }).waitFor()
    await page.getByRole('link', { name: 'staff', exact: true }).waitFor({ state: 'detached' })
  })

  it('shows hostile names as text, and copies them without formulas', async () => {
    const { page } = chief
    await chief.goTo('auth', '/ui/realms/shop/users')
    await page.getByRole('link', { name: hostile }).waitFor()
    await chief.assertAccessible()
    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    await told(page, 'Copied')
    const csv = String(await page.evaluate('navigator.clipboard.readText()'))
    assert.ok(csv.includes(`\r\n'${formula},`), csv)
    assert.ok(csv.includes(`\r\n'--all,`), csv)
    await page.getByRole('link', { name: '--all' }).click()
    await page.getByRole('heading', { name: 'User --all of realm shop' }).waitFor()
    await command(page, 'warder admin show-user --realm shop -- --all')
    await chief.goTo('auth', `/ui/realms/shop/user?name=${encodeURIComponent(hostile)}`)
    await page.locator('dd', { hasText: hostile }).waitFor()
    await command(page, `warder admin show-user '${hostile}' --realm shop`)
    await chief.goTo('auth', '/ui/admins')
    await page.getByRole('link', { name: `${hostile} of club` }).waitFor()
    await chief.assertAccessible()
    await page.getByRole('link', { name: `${hostile} of club` }).click()
    await page.getByRole('heading', { name: `Administrator ${hostile} of club` }).waitFor()
    await page.locator('dd', { hasText: hostile }).waitFor()
    await chief.assertAccessible()
    await chief.goTo('auth', '/ui/machines/kubernetes/pods')
    await page.locator('dd', { hasText: hostile }).waitFor()
    await chief.assertAccessible()
    for (const name of ['..', '']) {
      await chief.goTo('auth', `/ui/realms/shop/user?name=${name}`)
      await page.getByText('There is no user').waitFor()
    }
  })

  it('adds a user with a random password that is shown once and must be changed', async () => {
    const { page } = chief
    await chief.goTo('auth', '/ui/realms/shop/users')
    await open(page, 'Add a user')
    await page.getByLabel('User', { exact: true }).fill('newcomer')
    await page.getByLabel('Roles').fill('seller, stock')
    await command(page, 'warder admin add-user newcomer --realm shop --role seller --role stock')
    await page.getByRole('button', { name: 'Add a user' }).click()
    const password = await readSecret(page, 'Password of newcomer')
    assert.match(password, /^[\w-]{24}$/)
    await chief.assertAccessible()
    await assertForgotten(page, password)
    await using other = await console.open()
    await other.page.goto(`${console.installation.authUrl}/ui/login?realm=shop`)
    await other.page.getByLabel('Username').fill('newcomer')
    await other.page.getByLabel('Password').fill(password)
    await other.page.getByRole('button', { name: 'Log in', exact: true }).click()
    await other.page.getByRole('heading', { name: 'Change your password' }).waitFor()
  })

  it('refuses the room of another realm to the administrator of one, and says who can help', async () => {
    const { page } = ann
    await ann.goTo('auth', '/ui/realms')
    await page.getByRole('link', { name: 'shop', exact: true }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'club', exact: true }).count(), 0)
    assert.equal(await page.getByRole('link', { name: 'SAML keys' }).count(), 0)
    assert.equal(await page.locator('summary').count(), 0)
    await ann.assertAccessible()
    for (const view of ['', '/users', '/sessions', '/saml', '/user?name=ann']) {
      await ann.goTo('auth', `/ui/realms/club${view}`)
      await page.getByRole('alert').getByText('Only administrators of the realm club may see it.').waitFor()
      await command(page, 'warder admin change-admin ADMINISTRATOR --add-realm club')
      assert.equal(await page.locator('summary, table').count(), 0)
    }
    await ann.assertAccessible()
    await ann.goTo('auth', '/ui/realms/shop')
    await page.getByText('Only super administrators may change a realm.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete the realm' }).count(), 0)
    await ann.goTo('auth', '/ui/machines/approle/bar')
    await page.getByRole('alert').getByText('a realm that you do not administer').waitFor()
    await ann.goTo('auth', '/ui/admins')
    await page.getByRole('alert').getByText('The list is for super administrators.').waitFor()
    await page.getByLabel('Administrator', { exact: true }).first().fill(`${hostile} of club`)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('alert').getByText('if you administer all of its realms').waitFor()
    await ann.goTo('auth', '/ui/admin?id=shop+admin')
    await page.locator('dd', { hasText: 'shop' }).waitFor()
    await ann.goTo('auth', '/ui/realms/nowhere')
    await page.getByRole('alert').getByText('Only administrators of the realm nowhere').waitFor()
  })

  it('ends sessions with a new password, and names them before', async () => {
    const { page } = ann
    await using ben = await console.open()
    await ben.logIn('shop', 'ben', passwordOfAnn)
    await ann.goTo('auth', '/ui/realms/shop/sessions')
    await page.getByRole('link', { name: 'ben' }).click()
    await page.getByRole('heading', { name: 'User ben of realm shop' }).waitFor()
    await page.getByRole('button', { name: 'End all sessions' }).waitFor()
    await ann.assertAccessible()
    await open(page, 'Reset the password')
    await page.getByRole('button', { name: 'Reset the password' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('all sessions that began with it end at once').waitFor()
    await dialog.getByText('warder admin reset-password ben --realm shop').waitFor()
    await confirm(page, 'Reset the password')
    const password = await readSecret(page, 'Password of ben')
    await page.getByText('There are no sessions.').waitFor()
    await assertForgotten(page, password)
    await ben.page.reload()
    await ben.page.getByRole('heading', { name: 'Log in' }).waitFor()
  })

  it('gives a one-time link for an authenticator app, and deletes a user', async () => {
    const { page } = ann
    await ann.goTo('auth', '/ui/realms/shop/user?name=ben')
    await open(page, 'Create a one-time link')
    await command(page, 'warder admin totp-token ben --realm shop --hours 24')
    await page.getByRole('button', { name: 'Create a one-time link' }).click()
    const link = await readSecret(page, 'Link for ben')
    assert.match(link, /^https:\/\/[^/]+\/ui\/enroll#[\w-]{43}$/)
    await assertForgotten(page, link.slice(-43))
    await page.getByRole('button', { name: 'Remove the app' }).click()
    await page.getByRole('alertdialog').getByText('Logins need no code then.').waitFor()
    await confirm(page, 'Cancel')
    await command(page, 'warder access block shop/ben')
    await page.getByRole('button', { name: 'Delete the user' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('The authenticator app, recovery codes and passkeys are deleted.').waitFor()
    await dialog.getByText('All sessions end').waitFor()
    await ann.assertAccessible()
    await confirm(page, 'Delete the user')
    await page.getByText('There is no user ben in this realm.').waitFor()
  })

  it('issues a SecretID that is shown once, with its limits, and destroys it', async () => {
    const { page } = ann
    await ann.goTo('auth', '/ui/machines')
    await page.getByRole('link', { name: 'till' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'bar', exact: true }).count(), 0)
    await ann.assertAccessible()
    await page.getByRole('link', { name: 'till' }).click()
    await page.locator('dd', { hasText: hostile }).waitFor()
    const roleId = await page.locator('dd code').first().innerText()
    await open(page, 'Issue a SecretID')
    await page.getByLabel('Maximum number of logins').fill('1')
    await command(page, 'warder admin new-secret-id till --secret-id-uses 1')
    await page.getByRole('button', { name: 'Issue a SecretID' }).click()
    const secret_id = await readSecret(page, 'SecretID')
    await page.getByText('It is valid for 600 seconds, for one login.').waitFor()
    await page.getByRole('button', { name: 'Destroy' }).waitFor()
    await ann.assertAccessible()
    await assertForgotten(page, secret_id)
    await page.getByRole('button', { name: 'Destroy' }).click()
    await page.getByRole('alertdialog').getByText('Tokens that were issued for it stay valid').waitFor()
    await confirm(page, 'Destroy')
    await page.getByText('This role has no usable SecretID.').waitFor()
    const auth = console.installation.client('auth')
    const login = await auth.ask('/auth/approle/login', { json: { role_id: roleId, secret_id } })
    auth.close()
    assert.equal(login.status, 400)
  })

  it('adds, changes and deletes a role of Kubernetes', async () => {
    const { page } = ann
    await ann.goTo('auth', '/ui/machines')
    await open(page, 'Add a Kubernetes role')
    const form = page.locator('details[open]')
    await form.getByLabel('Role', { exact: true }).fill('jobs')
    await form.getByLabel('Address of the signing keys').fill('https://k8s.example/keys')
    await form.getByLabel('Service accounts').fill('builder')
    await form.getByLabel('Namespaces').fill('ci, cd')
    await form.getByRole('button', { name: 'Add a Kubernetes role' }).click()
    await page.getByRole('heading', { name: 'Kubernetes role jobs' }).waitFor()
    await page.locator('dd', { hasText: 'ci, cd' }).waitFor()
    await open(page, 'Change the role')
    await page.getByLabel('Expected issuer').fill('https://k8s.example')
    await page.getByRole('button', { name: 'Change the role' }).click()
    await told(page, 'The role was saved')
    await page.locator('dd', { hasText: /^https:\/\/k8s.example$/ }).waitFor()
    await page.getByRole('button', { name: 'Delete the role' }).click()
    await page.getByRole('alertdialog').getByText('All its tokens become invalid').waitFor()
    await confirm(page, 'Delete the role')
    await told(page, 'The role was deleted')
    await page.getByRole('link', { name: 'jobs' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'pods' }).waitFor()
  })

  it('creates, changes and deletes an administrator', async () => {
    const { page } = chief
    await chief.goTo('auth', '/ui/admins')
    await open(page, 'Add an administrator')
    await page.getByLabel('Administrator', { exact: true }).fill('deputy')
    await page.getByLabel('Realms').fill('shop\nclub')
    await command(page, 'warder admin add-admin deputy --realm shop --realm club')
    await page.getByRole('button', { name: 'Add an administrator' }).click()
    const password = await readSecret(page, 'Password of deputy')
    await assertForgotten(page, password)
    await page.getByRole('link', { name: 'deputy' }).click()
    await page.locator('dd', { hasText: 'club, shop' }).waitFor()
    await open(page, 'Change the administrator')
    await page.getByLabel('Realms').fill('shop')
    await command(page, 'warder admin change-admin deputy --remove-realm club')
    await page.getByRole('button', { name: 'Change the administrator' }).click()
    await page.getByRole('alertdialog').getByText('The power over realm club ends').waitFor()
    await confirm(page, 'Change the administrator')
    await told(page, 'The administrator was changed')
    await page.getByRole('button', { name: 'Delete the administrator' }).click()
    await page.getByRole('alertdialog').getByText('The user stays').waitFor()
    await confirm(page, 'Delete the administrator')
    await told(page, 'The administrator was deleted')
    await page.getByRole('link', { name: 'deputy' }).waitFor({ state: 'detached' })
  })

  it('sets SAML up, shows the values for the provider, and tests a response', async () => {
    const { page } = chief
    const provider = new TestIdp({
      key: await sharedKey('idp'),
      spEntityId: 'https://auth.example/saml/club',
      acsUrl: 'https://auth.example/saml/club/acs',
    })
    await chief.goTo('auth', '/ui/realms/club/saml')
    await page.getByText('This realm does not use SAML').waitFor()
    await open(page, 'Set up SAML')
    await page.getByLabel('Metadata of the identity provider').fill(provider.metadata())
    await page.getByLabel('Address at which browsers reach this service').fill('https://auth.example')
    await page.getByLabel('Attribute of the roles').fill('groups')
    await command(
      page,
      'warder admin set-saml club --metadata idp.xml --base-url https://auth.example --role-attribute groups',
    )
    await chief.assertAccessible()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: `Enter at the identity provider ${idp}` }).waitFor()
    for (const path of ['', '/acs', '/metadata'])
      await page
        .locator('dd code', { hasText: new RegExp(`^https://auth.example/saml/club${path}$`) })
        .waitFor()
    await open(page, 'Test a response')
    const wishes = { requestId: '_x', now: 1_700_000_000, attributes: { groups: [hostile] } }
    await page.getByLabel('Response of the identity provider').fill(provider.response(wishes))
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('heading', { name: 'Accepted' }).waitFor()
    await page.locator('dd', { hasText: hostile }).waitFor()
    await chief.assertAccessible()
    const elsewhere = provider.response({ ...wishes, audiences: [['https://other.example']] })
    await page.getByLabel('Response of the identity provider').fill(elsewhere)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('heading', { name: 'Refused' }).waitFor()
    await page.locator('dd', { hasText: /^audience$/ }).waitFor()
    await page.getByRole('button', { name: 'Stop SAML' }).click()
    await page.getByRole('alertdialog').getByText('Their sessions and grants end').waitFor()
    await confirm(page, 'Cancel')

    await chief.goTo('auth', '/ui/saml-keys')
    await page.getByText('Signs now').waitFor()
    await open(page, 'Generate the next key')
    await page.getByRole('button', { name: 'Generate the next key' }).click()
    await told(page, 'The next key was generated')
    await chief.assertAccessible()
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('alertdialog').getByText('It leaves the metadata and will not sign.').waitFor()
    await confirm(page, 'Remove')
    await told(page, 'The key was removed')
  })

  it('binds names to identity providers, and releases them', async () => {
    const issuer = 'https://login.example.com/'
    const idp_params = [{ jwt_issuer_uri: issuer, jwks_uri: 'https://login.example.com/keys' }]
    await call('POST', '/admins/realms', {
      id: 'tokens',
      auth_params: { jwt_params: { idp_params } },
      ...ages,
    })
    const { page } = chief
    await chief.goTo('auth', '/ui/realms/tokens/users')
    await open(page, 'Bind a name')
    await page.getByLabel('Subject', { exact: true }).fill(hostile)
    await command(page, 'warder admin assign-jwt-subject')
    await page.getByRole('button', { name: 'Bind a name' }).click()
    await page.getByRole('alertdialog').getByText('its sessions end').waitFor()
    await chief.assertAccessible()
    await confirm(page, 'Bind a name')
    await told(page, 'The name is bound.')
    await page.getByRole('link', { name: hostile }).click()
    await page.getByText('Second factors', { exact: true }).waitFor()
    await page.locator('dd').filter({ hasText: 'None' }).first().waitFor()
    await page.getByRole('button', { name: 'Release the name' }).click()
    await command(page, 'warder admin release-jwt-subject')
    await confirm(page, 'Release the name')
    await told(page, 'The name is released.')
    const subjects = JSON.parse(await call('GET', '/realms/tokens/jwt-subjects'))
    assert.deepEqual(subjects, [])
    chief.assertNoErrors()
  })
})
