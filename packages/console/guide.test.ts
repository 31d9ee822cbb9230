import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { texts } from './page/texts.ts'
import { missingChromium, startConsole } from './testing/console.ts'

const start = join(import.meta.dirname, '..', '..', 'docs', 'start')
const guide = readFileSync(join(start, 'console.md'), 'utf8')

/** All texts of the page that are not built from values. */
function listTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : []
}

it('the guide names buttons, fields and rooms as the pages do', () => {
  const known = new Set(listTexts(texts))
  const quoted = [...guide.matchAll(/\*\*([^*]+)\*\*/g)].map(([, text = '']) => text.replaceAll(/\s+/g, ' '))
  assert.ok(quoted.length > 40, 'there is something to check')
  assert.deepEqual(
    quoted.filter((text) => !known.has(text)),
    ['bold'],
  )
})

it('the pictures and pages of the guide exist', () => {
  const targets = [...guide.matchAll(/\]\(([^)#]+)/g)].map(([, target = '']) => target)
  assert.ok(targets.length > 10)
  assert.deepEqual(
    targets.filter((target) => !existsSync(join(start, target))),
    [],
  )
})

it('the steps of the guide work, in their order', { skip: missingChromium }, async () => {
  await using console = await startConsole()
  await console.admin('auth', 'POST', '/admins/realms', {
    ...{ id: 'shop', session_max_age_seconds: 28_800, session_max_stale_age_seconds: 1800 },
    auth_params: { username_password_params: { allow_expired_passwords: false } },
  })
  await console.createUser('ann', { realm: 'shop' })
  await using opened = await console.open()
  const { page } = opened
  const click = (name: string) => page.getByRole('button', { name, exact: true }).click()
  await opened.logInAtKms('/ui/', '_', 'admin', console.installation.password)
  await page.locator('.who').getByText('until').waitFor()
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click()
  await page.getByRole('link', { name: 'Create a key' }).first().click()
  await page.getByRole('radio', { name: 'Encrypt files and data' }).check()
  await page.getByLabel('Tags').fill('orders')
  await click('Create the key')
  await page.getByRole('tab', { name: 'Try it' }).click()
  await page.getByLabel('Text', { exact: true }).fill('the first text')
  await click('Encrypt')
  await page.getByRole('region', { name: 'Result' }).waitFor()
  await page.getByRole('tab', { name: 'The same in code' }).click()
  await page.getByText('curl').first().waitFor()
  await click('Rotate')
  await page.getByRole('tab', { name: 'Grants' }).click()
  await page.getByLabel('Name', { exact: true }).fill('shop/ann')
  await click('Grant')
  await page.getByText('shop/ann has the rights from now on.').first().waitFor()
  await page.getByRole('link', { name: 'Who may what' }).click()
  const matrix = page.getByRole('table', { name: 'Rights by user and key' })
  await matrix.getByRole('row', { name: /shop\/ann .*encrypt/ }).waitFor()
  await page.getByRole('link', { name: 'Audit' }).click()
  await page
    .getByRole('row', { name: /crypto\.encrypt/ })
    .first()
    .waitFor()
  await click('Log out')
  opened.assertNoErrors()
})
