import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

describe('the API explorer', { skip: missingChromium }, () => {
  let console: Console
  before(async () => {
    console = await startConsole()
  })
  after(() => console?.[Symbol.asyncDispose]())

  it('finds operations, sends examples with the session, and asks before a deletion', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.logIn('_', 'admin', console.installation.password)
    await opened.goTo('auth', '/ui/explorer')
    await page.getByLabel('Search').fill('claims session')
    await page.getByRole('status').filter({ hasText: '1 operation' }).waitFor()
    await page.getByRole('link', { name: 'GET The claims of the session' }).click()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Status 200').waitFor()
    const reply = page.getByRole('status', { name: 'Reply' })
    assert.match((await reply.textContent()) ?? '', /"sub": "admin"/)
    await opened.assertAccessible()

    await opened.goTo('auth', '/ui/explorer?operation=realms.create')
    const body = page.getByLabel('Body (JSON)')
    await body.fill('{"id":"<img src=x onerror=alert(1)>"}')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Status 400').waitFor()
    const curl = await page.getByRole('region').locator('pre').last().textContent()
    assert.match(curl ?? '', /^curl .*-X POST/)

    await opened.goTo('auth', '/ui/explorer?operation=realms.delete')
    await page.getByLabel('realm_id (path, required)').fill('none/such')
    await page.getByRole('button', { name: 'Send DELETE' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('/admins/realms/none%2Fsuch').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await page.getByText(/^Status \d/).count(), 0)
    opened.assertNoErrors()
  })

  for (const [colorScheme, width] of [
    ['light', 375],
    ['dark', 1200],
  ] as const)
    it(`is accessible: ${colorScheme}, ${width} px`, async () => {
      await using opened = await console.open({ colorScheme, width })
      await opened.logIn('_', 'admin', console.installation.password)
      await opened.goTo('auth', '/ui/explorer?operation=admins.create')
      await opened.page.getByLabel('Body (JSON)').waitFor()
      await opened.assertAccessible()
    })
})
