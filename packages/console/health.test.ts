import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newUser } from 'warder/testing'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

const script = '<img src=x onerror=alert(1)>'

describe('the state of the services in the console', { skip: missingChromium }, () => {
  let console: Console
  before(async () => {
    console = await startConsole({
      KMS_AWS_XKS_SERVICE: script,
      KMS_APPROVALS_WEBHOOK_SECRET: 's'.repeat(40),
      KMS_APPROVALS_WEBHOOK_URL: 'https://ann:secret@example.com',
    })
    await newUser(console.installation, 'bob')
  })
  after(() => console?.[Symbol.asyncDispose]())

  it('shows problems with the command that helps, then all parts; values of settings never run', async () => {
    await using opened = await console.open()
    const { page } = opened
    page.on('dialog', () => assert.fail('a script of a setting ran'))
    await opened.logInAtKms('/ui/health', '_', 'admin', console.installation.password)
    const problems = page.getByRole('region', { name: 'Problems' })
    await problems.getByText('This node knows no backup.').waitFor()
    await problems.getByText('warder backup FILE --to officer.pub.pem').waitFor()
    await page.getByRole('row', { name: /^HTTPS valid .*CN=Warder kms/ }).waitFor()
    await page.getByRole('row', { name: /answers \d+ complete/ }).waitFor()
    await page.getByText(/^SQLite \d/).waitFor()
    const { home } = console.installation
    await page.getByText(`${home}/kms.db`, { exact: true }).waitFor()
    await page.getByRole('row', { name: `aws_xks_config.aws_xks_service ${script} environment` }).waitFor()
    await page.getByRole('row', { name: 'approvals.webhook_secret secret environment' }).waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Read again' }).click()
    await page.getByRole('link', { name: 'Verify its chain' }).click()
    await page.getByRole('button', { name: 'Verify the log' }).waitFor()
    opened.assertNoErrors()
  })

  it('shows super administrators the authentication service, also in dark colours on a phone', async () => {
    await using opened = await console.open({ colorScheme: 'dark', width: 375 })
    const { page } = opened
    await opened.logIn('_', 'admin', console.installation.password)
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText('CN=Warder auth').waitFor()
    const width = await page.evaluate('document.documentElement.scrollWidth')
    assert.ok(Number(width) <= 375, `the page is ${width} px wide`)
    await opened.assertAccessible()
  })

  it('names the right that a user lacks, and offers auth no such room', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.logIn('_', 'bob', 'the password of bob')
    assert.equal(await page.getByRole('link', { name: 'Health' }).count(), 0)
    await opened.goTo('auth', '/ui/health')
    await page.getByText('The address may be wrong, or you may not use this page.').waitFor()
    assert.equal(await page.getByRole('table').count(), 0)
    await opened.assertAccessible()
    await using other = await console.open({ width: 375 })
    await other.logInAtKms('/ui/health', '_', 'bob', 'the password of bob')
    await other.page.getByRole('alert').getByText('is for crypto officers').waitFor()
    assert.equal(await other.page.getByRole('table').count(), 0)
    await other.assertAccessible()
  })
})
