import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { codeAt, fromBase32 } from '@warder/auth/testing'
import type { Page } from 'playwright-core'
import decodeQr from 'qr/decode.js'
import { type Console, missingChromium, type OpenPage, startConsole } from './testing/console.ts'

const password = 'only the first one knows'
const hostile = '<img src=x onerror=alert(1)> =1+1'

describe('the account of a user in the console', { skip: missingChromium }, () => {
  let console: Console
  let asAdmin: (method: string, path: string, json?: unknown) => Promise<unknown>
  before(async () => {
    console = await startConsole()
    const cookie = `_ea_=${await console.installation.adminToken()}`
    const client = console.installation.client('auth')
    asAdmin = async (method, path, json) => {
      const { status, json: reply, text } = await client.ask(path, { method, headers: { cookie }, json })
      assert.ok(status < 300, `${path}: ${text}`)
      return reply
    }
    await asAdmin('POST', '/admins/realms', {
      id: 'shop',
      auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
      session_max_age_seconds: 3600,
      session_max_stale_age_seconds: 3600,
    })
  })
  after(() => console[Symbol.asyncDispose]())

  /** A page at `localhost`, the domain of passkeys, where a new user has logged in. */
  async function openAs(username: string): Promise<OpenPage> {
    await asAdmin('POST', '/realms/shop/userpass', { username, password_input: { plaintext: password } })
    const opened = await console.open()
    await logIn(opened.page, username, password)
    await goTo(opened.page, '/ui/account')
    return opened
  }
  const toUrl = (path: string): string =>
    `${console.installation.authUrl.replace('127.0.0.1', 'localhost')}${path}`

  async function goTo(page: Page, path: string): Promise<void> {
    await page.goto(toUrl(path))
    await page.locator('h1').first().waitFor()
  }

  async function enterPassword(page: Page, username: string, chosen: string): Promise<void> {
    await goTo(page, '/ui/login?realm=shop')
    await page.getByLabel('Username').fill(username)
    await page.getByLabel('Password').fill(chosen)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
  }

  async function logIn(page: Page, username: string, chosen: string): Promise<void> {
    await enterPassword(page, username, chosen)
    await page.getByRole('button', { name: 'Log out' }).waitFor()
  }

  const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
  const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

  /** Makes the sessions of a user older than a recent login. */
  function age(username: string): void {
    const file = new DatabaseSync(join(console.installation.home, 'auth.db'))
    file.exec('PRAGMA busy_timeout = 5000')
    file.prepare('UPDATE session SET created_at = created_at - 1000 WHERE username = ?').run(username)
    file.close()
  }

  /** Reads the QR code as a camera does. */
  async function readQr(page: Page): Promise<string> {
    const image = page.getByRole('img', { name: 'QR code' })
    const size = Number((await image.getAttribute('viewBox'))?.split(' ')[2])
    const path = (await image.locator('path').getAttribute('d')) ?? ''
    const scale = 4
    const width = size * scale
    const data = new Uint8Array(width * width * 4).fill(255)
    for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g))
      for (let row = 0; row < scale; row += 1) {
        const start = ((Number(y) * scale + row) * width + Number(x) * scale) * 4
        data.fill(0, start, start + scale * 4)
      }
    return decodeQr({ width, height: width, data })
  }

  /** Enrolls an authenticator app. @returns its codes by offset in steps, and the recovery codes */
  async function enroll(page: Page) {
    await click(page, 'Set up an authenticator app')
    const secret = (await page.locator('.enrollment dd code').innerText()).replaceAll(' ', '')
    assert.equal(new URL(await readQr(page)).searchParams.get('secret'), secret)
    const code = (offset: number): string =>
      codeAt(fromBase32(secret) ?? Buffer.alloc(0), Math.floor(Date.now() / 30_000) + offset, 'SHA1')
    await page.getByLabel('Code of the app').fill(code(0))
    await click(page, 'Confirm')
    await page.getByRole('dialog').getByText('They are shown only now').waitFor()
    const codes = await page.locator('.codes code').allInnerTexts()
    return { secret, code, codes }
  }

  it('changes the password; the advice of the service is at the field', async () => {
    await using opened = await openAs('ann')
    const { page } = opened
    await opened.assertAccessible()
    const change = async (present: string, chosen: string, again = chosen) => {
      await page.getByLabel('Present password').fill(present)
      await page.getByLabel('New password', { exact: true }).fill(chosen)
      await page.getByLabel('New password, again').fill(again)
      await click(page, 'Change the password')
    }
    await change(password, 'a long enough sentence', 'another')
    await page.getByText('The two new passwords differ.').waitFor()
    await change(password, '19870321')
    const field = page.getByLabel('New password', { exact: true })
    const advice = page.getByText('dates are easy to guess. To make it better:')
    await advice.waitFor()
    assert.equal(
      (await field.getAttribute('aria-describedby'))?.includes((await advice.getAttribute('id')) ?? '-'),
      true,
    )
    await opened.assertAccessible()
    await change('wrong', 'the second is as good')
    await page.getByText('The present password is wrong').waitFor()
    await change(password, 'the second is as good')
    await page.getByText('Your password is changed.').waitFor()
    assert.equal(await field.inputValue(), '')
    // Still logged in, by a new session.
    await page.reload()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await click(page, 'Log out')
    await enterPassword(page, 'ann', password)
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    await logIn(page, 'ann', 'the second is as good')
    opened.assertNoErrors()
  })

  it('enrolls an authenticator app by a QR code, and logs in with its code and with a recovery code', async () => {
    await using opened = await openAs('ben')
    const { page } = opened
    await click(page, 'Set up an authenticator app')
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    await opened.assertAccessible()
    await page.getByLabel('Code of the app').fill('000000')
    await click(page, 'Confirm')
    await page.getByRole('alert').filter({ hasText: 'code' }).waitFor()
    await click(page, 'Cancel')
    const { codes, code, secret } = await enroll(page)
    assert.equal(new Set(codes).size, 10)
    await opened.assertAccessible()
    const [download] = await Promise.all([page.waitForEvent('download'), click(page, 'Download as text')])
    assert.ok(readFileSync(await download.path(), 'utf8').includes(codes[9] ?? '-'))
    await page.keyboard.press('Escape')
    await click(page, 'I have stored them')
    await page.getByText('10 unused codes').waitFor()
    assert.equal(await page.getByText(codes[0] ?? '').count(), 0)
    await page.goBack()
    await page.goForward()
    await page.getByText('10 unused codes').waitFor()
    for (const gone of [secret, codes[0] ?? '']) assert.equal((await page.content()).includes(gone), false)
    await click(page, 'Log out')
    for (const answer of [code(1), codes[0] ?? '']) {
      await enterPassword(page, 'ben', password)
      await page.getByLabel('Code').fill(answer)
      await click(page, 'Log in')
      await click(page, 'Log out')
      await page.getByLabel('Realm').waitFor()
    }
    await enterPassword(page, 'ben', password)
    await page.getByLabel('Code').fill(codes[0] ?? '')
    await click(page, 'Log in')
    await page.getByText('The code is wrong or was used before').waitFor()
    await page.getByLabel('Code').fill(codes[1] ?? '')
    await click(page, 'Log in')
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    await goTo(page, '/ui/account')
    await page.getByText('8 unused codes').waitFor()
    await click(page, 'New recovery codes')
    await page.getByRole('alertdialog').getByRole('button', { name: 'New recovery codes' }).click()
    await page.getByText('They are shown only now').waitFor()
    await click(page, 'I have stored them')
    await page.getByText('10 unused codes').waitFor()
    await click(page, 'Turn off')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Turn off' }).click()
    await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor()
    opened.assertNoErrors()
  })

  it('changes the password with a second factor, and stays logged in with another code', async () => {
    await using opened = await openAs('bea')
    const { page } = opened
    const { codes } = await enroll(page)
    await click(page, 'I have stored them')
    await page.getByLabel('Present password').fill(password)
    for (const label of ['New password', 'New password, again'])
      await page.getByLabel(label, { exact: true }).fill('the second is as good')
    await click(page, 'Change the password')
    await page.getByText('Prove the change').waitFor()
    await opened.assertAccessible()
    await page.getByLabel('Code', { exact: true }).fill(codes[0] ?? '')
    await click(page, 'Change the password')
    await page.getByText('Prove your second factor once more').waitFor()
    await page.getByLabel('Code', { exact: true }).fill(codes[1] ?? '')
    await click(page, 'Stay logged in')
    await page.getByText('8 unused codes').waitFor()
    opened.assertNoErrors()
  })

  it('asks for a new login where the last one is too long ago, and goes on', async () => {
    await using opened = await openAs('cleo')
    const { page } = opened
    age('cleo')
    await click(page, 'Set up an authenticator app')
    const dialog = page.getByRole('dialog', { name: 'Log in again' })
    await dialog.waitFor()
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor()
    await click(page, 'Set up an authenticator app')
    await dialog.getByLabel('Password of cleo').fill('wrong')
    await dialog.getByRole('button', { name: 'Log in and continue' }).click()
    await dialog.getByText('is wrong').waitFor()
    await dialog.getByLabel('Password of cleo').fill(password)
    await dialog.getByRole('button', { name: 'Log in and continue' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    // The new session has replaced the old one.
    assert.equal(await section(page, 'Your sessions').locator('tbody tr').count(), 1)
    opened.assertNoErrors()
  })

  it('registers passkeys, names and deletes them, and logs in with one of them', async () => {
    await using opened = await openAs('dora')
    const { page, context } = opened
    const browser = await context.newCDPSession(page)
    await browser.send('WebAuthn.enable')
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    } as const
    const { authenticatorId } = await browser.send('WebAuthn.addVirtualAuthenticator', { options })
    await page.getByLabel('Name of the new passkey').fill(hostile)
    await click(page, 'Register a passkey')
    await page.getByText('They are shown only now').waitFor()
    await click(page, 'I have stored them')
    await page.getByRole('cell', { name: hostile }).waitFor()
    await opened.assertAccessible()
    // One for each authenticator and user.
    await page.getByLabel('Name of the new passkey').fill('key ring')
    await click(page, 'Register a passkey')
    await page.getByText('No passkey was registered').waitFor()
    await browser.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    await browser.send('WebAuthn.addVirtualAuthenticator', { options })
    await click(page, 'Register a passkey')
    await page.getByRole('cell', { name: 'key ring' }).waitFor()
    await page.getByRole('row').filter({ hasText: hostile }).getByRole('button', { name: 'Rename' }).click()
    await opened.assertAccessible()
    await page.getByRole('dialog').getByLabel('Name').fill('phone')
    await click(page, 'Save')
    await page.getByRole('cell', { name: 'phone' }).waitFor()
    await click(page, 'Log out')
    await goTo(page, '/ui/login?realm=shop')
    await click(page, 'Log in with a passkey')
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    await goTo(page, '/ui/account')
    await page.locator('dd').filter({ hasText: 'passkey' }).waitFor()
    const used = page.getByRole('row').filter({ hasText: 'key ring' })
    assert.doesNotMatch(await used.innerText(), /never/)
    // The session stays: it did not begin with the old password.
    await page.getByLabel('Present password').fill(password)
    for (const label of ['New password', 'New password, again'])
      await page.getByLabel(label, { exact: true }).fill('the second is as good')
    await click(page, 'Change the password')
    await page.getByText('Prove the change').waitFor()
    await click(page, 'Use a passkey')
    await page.getByText('Your password is changed.').waitFor()
    // A login that is too old: the passkey again, and the deletion goes on.
    age('dora')
    await page.getByRole('row').filter({ hasText: 'phone' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page
      .getByRole('dialog', { name: 'Log in again' })
      .getByRole('button', { name: 'Use a passkey' })
      .click()
    await page.getByText('The passkey is deleted.').waitFor()
    await page.getByRole('cell', { name: 'phone' }).waitFor({ state: 'detached' })
    opened.assertNoErrors()
  })

  it('says where passkeys belong when the page is at another address', async () => {
    await using opened = await openAs('dave')
    const { page } = opened
    await page.goto(`${console.installation.authUrl}/ui/login?realm=shop&to=/ui/account`)
    await page.getByLabel('Username').fill('dave')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.getByLabel('Name of the new passkey').fill('x')
    await click(page, 'Register a passkey')
    await page.getByText('Passkeys belong to localhost. Open this page at https://localhost:').waitFor()
  })

  it('lists sessions, and ends one and all others', async () => {
    await using first = await openAs('emma')
    await using second = await console.open({ width: 375 })
    await using third = await console.open()
    for (const { page } of [second, third]) await logIn(page, 'emma', password)
    const { page } = first
    await page.reload()
    const rows = section(page, 'Your sessions').locator('tbody tr')
    await rows.nth(2).waitFor()
    assert.equal(await rows.filter({ hasText: 'This session' }).count(), 1)
    await rows.getByRole('button', { name: 'End' }).first().click()
    await first.assertAccessible()
    await page.getByRole('alertdialog').getByRole('button', { name: 'End' }).click()
    await page.getByText('The session has ended.').waitFor()
    await rows.nth(2).waitFor({ state: 'detached' })
    await click(page, 'End all other sessions')
    await page.getByRole('alertdialog').getByRole('button', { name: 'End all other sessions' }).click()
    await rows.nth(1).waitFor({ state: 'detached' })
    for (const opened of [second, third]) {
      await goTo(opened.page, '/ui/account')
      await opened.page.getByLabel('Realm').waitFor()
    }
    first.assertNoErrors()
  })

  it('shows nothing of a user to the next one: in another tab, and by the back button', async () => {
    await using opened = await openAs('fritz')
    const { page, context } = opened
    await asAdmin('POST', '/realms/shop/userpass', {
      username: hostile,
      password_input: { plaintext: password },
    })
    await section(page, 'You').getByText('fritz').waitFor()
    const tab = await context.newPage()
    await goTo(tab, '/ui/account')
    await click(tab, 'Log out')
    await logIn(tab, hostile, password)
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")
    await section(page, 'You').getByText(hostile).waitFor()
    assert.equal((await page.content()).includes('fritz'), false)
    await opened.assertAccessible()
    await click(page, 'Log out')
    await page.getByLabel('Realm').waitFor()
    await page.goBack()
    await page.getByLabel('Realm').waitFor()
    assert.equal((await page.content()).includes('onerror'), false)
    opened.assertNoErrors()
  })

  it('enrolls with a one-time token, which is in the fragment alone and leaves the address', async () => {
    await asAdmin('POST', '/realms/shop/userpass', {
      username: 'gina',
      password_input: { plaintext: password },
    })
    const { token } = (await asAdmin('POST', '/realms/shop/totp/gina/link')) as { readonly token: string }
    await using opened = await console.open({ width: 375 })
    const { page } = opened
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    await goTo(page, '/ui/enroll')
    await opened.assertAccessible()
    await page.getByLabel('One-time token').fill('too short')
    await click(page, 'Next')
    await page.getByText('A token has 43 letters').waitFor()
    await goTo(page, `/ui/enroll#${token}`)
    await page.getByText('shop/gina').waitFor()
    assert.equal(page.url(), toUrl('/ui/enroll'))
    await opened.assertAccessible()
    const secret = (await page.locator('.enrollment dd code').innerText()).replaceAll(' ', '')
    const code = codeAt(fromBase32(secret) ?? Buffer.alloc(0), Math.floor(Date.now() / 30_000), 'SHA1')
    await page.getByLabel('Code of the app').fill(code)
    await click(page, 'Confirm')
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
    await opened.assertAccessible()
    const [recoveryCode = ''] = await page.locator('.codes code').allInnerTexts()
    await click(page, 'I have stored them')
    await page.getByRole('link', { name: 'Log in' }).first().waitFor()
    assert.equal((await page.content()).includes(recoveryCode), false)
    assert.deepEqual(
      sent.filter((url) => url.includes(token) && !url.includes('#')),
      [],
    )
    await goTo(page, '/ui/enroll')
    await page.getByLabel('One-time token').fill(token)
    await click(page, 'Next')
    await page.getByText('The token was used').waitFor()
    opened.assertNoErrors()
  })
})
