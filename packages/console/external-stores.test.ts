import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Console, missingChromium, startConsole } from './testing/console.ts'
import { createUsers, type Users } from './testing/users.ts'

const script = '<img src=x onerror=alert(1)>'

describe('external key stores in the console', { skip: missingChromium }, () => {
  let console: Console
  let users: Users
  before(async () => {
    console = await startConsole({
      KMS_ROLES_CRYPTO_OFFICER_USERS: 'ann',
      KMS_AWS_XKS_ENABLE: 'true',
      KMS_AWS_XKS_URI_PATH_PREFIXES: '/aws,/payments',
      KMS_MS_DKE_ENABLE: 'true',
      KMS_MS_DKE_KEYS: 'finance=0199aaaa-0000-7000-8000-00000000000c',
      KMS_MS_DKE_TENANTS: '2ec40e65-ba09-4853-bcde-bcb60029e596',
    })
    users = await createUsers(console.installation, ['ann', 'bob', script])
    const grant = { user_id: script, operation_types: ['external'] }
    await users.call('ann', 'POST', '/access/grant', grant)
  })
  after(() => console?.[Symbol.asyncDispose]())

  async function openAs(name: string, path: string, options?: Parameters<Console['open']>[0]) {
    const opened = await console.open(options)
    opened.page.on('dialog', () => assert.fail('a script of a name ran'))
    await opened.logInAtKms(path, '_', name, `the password of ${name}`)
    return opened
  }

  it('shows the values for AWS, and creates and deletes an access key, whose secret is shown once', async () => {
    const other = await users.call(script, 'POST', '/v1/external-stores/aws/access-keys', {
      region: 'eu-west-1',
      uri_prefix: '/payments',
    })
    await using opened = await openAs('ann', '/ui/external-stores')
    const { page } = opened
    await page.getByRole('row', { name: /Azure Managed HSM .* disabled in the settings/ }).waitFor()
    await opened.assertAccessible()
    await page.getByRole('link', { name: 'AWS KMS' }).click()
    await page.getByText('A cloud cannot reach 127.0.0.1.').waitFor()
    await page.getByText('The whole path is /payments/kms/xks/v1').waitFor()
    await page.getByRole('button', { name: 'Copy Proxy URI path prefix' }).last().click()
    await page.getByText('Copied').first().waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), '/payments')
    const row = page.getByRole('row', { name: new RegExp(`${other.id} active eu-west-1 /payments`) })
    assert.ok((await row.textContent())?.includes(script))

    await page.getByText('Create an access key').first().click()
    await page.getByLabel('Region').fill('eu-north-1')
    await page.getByRole('button', { name: 'Create an access key' }).click()
    const secret = page.getByRole('region', { name: 'Secret access key' })
    await secret.getByText('•'.repeat(24)).waitFor()
    await secret.getByRole('button', { name: 'Show' }).click()
    assert.match((await secret.locator('code').textContent()) ?? '', /^[A-Za-z0-9+/]{43}=$/)
    await page.getByRole('row', { name: /eu-north-1 \/aws/ }).waitFor()
    await opened.assertAccessible()

    await row.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('alertdialog', { name: `Delete access key ${other.id}` })
    await dialog.getByText('its services can no longer encrypt or decrypt').waitFor()
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('row', { name: /eu-north-1/ }).waitFor()
    assert.equal(await page.getByRole('region', { name: 'Secret access key' }).count(), 0)
  })

  it('stops a store after it says what breaks, starts it again, and shows its last requests', async () => {
    await using opened = await openAs('ann', '/ui/external-stores/microsoft', { colorScheme: 'dark' })
    const { page } = opened
    await page.getByText(/\/ms_dke\/finance$/).waitFor()
    await page.getByText('The cloud has sent no request yet.').waitFor()
    await page.getByRole('button', { name: 'Check the settings' }).click()
    await page.getByText('The cloud cannot reach 127.0.0.1').waitFor()
    await page.getByText('from the local authority, which the cloud does not trust').waitFor()
    await page.getByText('There is no key 0199aaaa-0000-7000-8000-00000000000c').waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Stop the key store' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Stop the key store of Microsoft 365' })
    await dialog.getByText('Users can open no document').waitFor()
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Stop the key store' }).click()
    await page.locator('.status').filter({ hasText: 'stopped' }).waitFor()
    await users.ask('bob', 'POST', '/ms_dke/finance/kid/decrypt', {})
    await page.getByRole('button', { name: 'Start the key store' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Start the key store' }).click()
    await page.locator('.status').filter({ hasText: 'enabled' }).waitFor()
    await page.reload()
    await page.getByRole('row', { name: /ms_dke\.decrypt/ }).waitFor()
    opened.assertNoErrors()
  })

  it('shows a manager of stores nothing of the audit log, and a hostile name of a store as text', async () => {
    await using opened = await openAs(script, '/ui/external-stores/aws', { width: 375 })
    const { page } = opened
    await page.getByText('to users with the right "audit"').waitFor()
    await opened.assertAccessible()
    await opened.goTo('kms', `/ui/external-stores/${encodeURIComponent(script)}`)
    await page.getByText(`There is no external key store ${script}.`).waitFor()
    await opened.goTo('kms', '/ui/external-stores/google')
    await page.getByText('warder external google enable').waitFor()
    await opened.assertAccessible()
  })

  it('names the right that a user lacks, and who grants it', async () => {
    for (const path of ['/ui/external-stores', '/ui/external-stores/aws']) {
      await using opened = await openAs('bob', path)
      const { page } = opened
      const refusal = page.getByRole('alert')
      await refusal.getByText('by users to whom they grant the right "external"').waitFor()
      assert.equal(await page.getByRole('table').count(), 0)
      assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0)
      await opened.assertAccessible()
    }
  })
})
