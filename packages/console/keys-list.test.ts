import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingChromium, startConsole } from './testing/console.ts'

describe('the list of keys in the console', { skip: missingChromium }, () => {
  it('pages, filters and copies, with hostile tags as text', async () => {
    await using started = await startConsole()
    const { password } = started.installation
    const hostile = '=cmd|<b>'
    await using opened = await started.open()
    const { page } = opened
    await opened.logIn('_', 'admin', password)
    await opened.goTo('kms', '/')
    await page.getByRole('link', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'You have no keys yet' }).waitFor()
    await opened.assertAccessible()
    for (let count = 0; count < 130; count++)
      await started.admin('kms', 'POST', '/v1/crypto/keys', {
        ...{ kty: 'oct', alg: 'A256GCM' },
        tags: count === 0 ? [hostile] : ['many'],
      })
    await page.reload()
    const region = page.getByRole('region', { name: 'Keys' })
    await region.waitFor()
    await page.getByText('100 rows loaded, more exist').waitFor()
    await opened.assertAccessible()
    await region.press('End')
    await page.getByText('130 rows', { exact: true }).waitFor()
    assert.ok((await page.locator('tbody tr').count()) < 80, 'only visible rows are drawn')
    await page.setViewportSize({ width: 375, height: 700 })
    await page.waitForFunction('document.querySelectorAll("tbody tr").length < 20')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    await opened.assertAccessible()
    await region.press('Home')
    await page.locator('tr[aria-rowindex="2"]').waitFor()
    await region.press('End')
    await page.locator('tr[aria-rowindex="131"]').waitFor()
    assert.equal(await page.getByRole('row').first().getByRole('columnheader').count(), 9)
    await page.setViewportSize({ width: 1200, height: 800 })

    await page.getByLabel('Tag').fill(hostile)
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('1 row', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('tag'), hostile)
    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    const copied = (): Promise<unknown> => page.evaluate('navigator.clipboard.readText()')
    await page.getByText('Copied').first().waitFor()
    const csv = String(await copied())
    assert.match(csv, /^Identifier,Name,Algorithm,State,Version,Tags,Created,Ends,Last used\r\n[\w-]+,/)
    assert.match(csv, /,'=cmd\|<b>,/)
    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'The command' }).click()
    assert.equal(await copied(), `warder keys list --tag '=cmd|<b>'`)
    await opened.assertAccessible()
  })
})
