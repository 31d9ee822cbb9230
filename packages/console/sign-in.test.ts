import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingChromium, startConsole } from './testing/console.ts'

describe('the console in a browser', { skip: missingChromium }, () => {
  it('logs a user in with a password, shows who it is, and logs out', async () => {
    await using console = await startConsole()
    const { password } = console.installation
    for (const colorScheme of ['light', 'dark'] as const) {
      await using opened = await console.open({ colorScheme })
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
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.locator('dd').filter({ hasText: 'admin' }).first().waitFor()
      assert.equal(await page.title(), 'Overview – Warder')
      await opened.assertAccessible()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('Realm').waitFor()
      assert.deepEqual(
        (await opened.context.cookies()).filter(({ name }) => name === '_ea_'),
        [],
      )
      opened.assertNoErrors()
    }
  })
})
