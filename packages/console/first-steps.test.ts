import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { codeAt, fromBase32 } from '@warder/auth/testing'
import type { Page } from 'playwright-core'
import { missingChromium, startConsole } from './testing/console.ts'

const hostile = `<script>alert(1)</script> o'neil`

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const step = (page: Page, name: string) => page.getByRole('heading', { level: 2, name }).waitFor()

async function logIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await click(page, 'Log in')
}

describe('the first steps of a new installation', { skip: missingChromium }, () => {
  it('are shown to the super administrator, are skipped and resumed, and end when all are done', async () => {
    await using console = await startConsole()
    const { password, caFile } = console.installation
    await using opened = await console.open()
    const { page } = opened
    const enter = async () => {
      await opened.goTo('auth', '/ui/login?realm=_')
      await logIn(page, 'admin', password)
      await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor()
    }
    await enter()
    await step(page, 'Your password')
    await opened.assertAccessible()
    await click(page, 'Skip this step')
    await step(page, 'Second factor')
    assert.equal(await page.evaluate('document.activeElement.id'), 'step')
    await page.reload()
    await step(page, 'Second factor')
    await click(page, 'Not now')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    // As long as the session lasts, they are only in the navigation.
    await page.getByRole('link', { name: 'Warder Authentication' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await click(page, 'Log out')
    await enter()

    await page.getByLabel('Present password').fill(password)
    for (const label of ['New password', 'New password, again'])
      await page.getByLabel(label, { exact: true }).fill('nobody else knows this one')
    await click(page, 'Change the password')
    await page.getByText('You have chosen your own password.').waitFor()
    await click(page, 'Next step')

    await click(page, 'Set up an authenticator app')
    const secret = (await page.locator('.enrollment dd code').innerText()).replaceAll(' ', '')
    const code = codeAt(fromBase32(secret) ?? Buffer.alloc(0), Math.floor(Date.now() / 30_000), 'SHA1')
    await page.getByLabel('Code of the app').fill(code)
    await click(page, 'Confirm')
    await click(page, 'I have stored them')
    await page.getByText('You have a second factor.').waitFor()
    await opened.assertAccessible()
    await click(page, 'Next step')

    await page.getByLabel('Realm').fill('no realm')
    await page.getByLabel('Username').fill(hostile)
    await click(page, 'Create the user')
    await page.getByText('A realm has 1 to 64 letters').waitFor()
    await page.getByLabel('Realm').fill('shop')
    await click(page, 'Create the user')
    await page.getByText(`${hostile} is a user of the realm shop.`).waitFor()
    await page.getByText(`add-user '<script>alert(1)</script> o'\\''neil' --realm shop`).waitFor()
    await click(page, 'Show')
    const given = await page.locator('.secret code').innerText()
    assert.match(given, /^[\w-]{24}$/)
    await opened.assertAccessible()
    await click(page, 'Next step')

    const authority = new X509Certificate(readFileSync(caFile))
    await page.getByText(authority.fingerprint256).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download the certificate' }).click(),
    ])
    assert.equal(
      new X509Certificate(readFileSync(await download.path())).fingerprint256,
      authority.fingerprint256,
    )
    await page.getByRole('tab', { name: 'Windows' }).click()
    await page.getByText('certutil -addstore').waitFor()
    await opened.assertAccessible()
    await click(page, 'Next step')

    const link = page.getByRole('link', { name: 'Create the first key' })
    assert.equal(
      new URL((await link.getAttribute('href')) ?? '').port,
      new URL(console.installation.kmsUrl).port,
    )
    await opened.assertAccessible()
    await click(page, 'Finish')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await opened.goTo('auth', '/ui/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await click(page, 'Log out')

    // The user has to choose a password, and the first steps are none of theirs.
    await opened.goTo('auth', '/ui/login?realm=shop')
    await logIn(page, hostile, given)
    for (const label of ['New password', 'New password, again'])
      await page.getByLabel(label, { exact: true }).fill('all my own choice')
    await click(page, 'Change the password and log in')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'First steps' }).count(), 0)
    await opened.goTo('auth', '/ui/first-steps')
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    opened.assertNoErrors()
  })
})
