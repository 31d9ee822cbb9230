import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { newUser, runWarder } from 'warder/testing'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

/** Neither may run as a script, be a formula, or leave its path. */
const hostile = '=<img src=x onerror=alert(1)>/..'

describe('devices in the console', { skip: missingChromium }, () => {
  let console: Console
  before(async () => {
    console = await startConsole()
    await newUser(console.installation, 'bob')
  })
  after(() => console?.[Symbol.asyncDispose]())

  async function issue(name: string, ...options: readonly string[]): Promise<void> {
    const { home } = console.installation
    const out = join(home, `device-${Math.random()}`)
    const made = await runWarder(['kmip', 'certificate', name, '--home', home, '--out', out, ...options])
    assert.equal(made.code, 0, made.err)
  }
  const openAsAdmin = async (path: string) => {
    const opened = await console.open()
    await opened.logInAtKms(path, '_', 'admin', console.installation.password)
    return opened
  }
  /** The service records certificates of the local authority after a moment. */
  async function waitForDevice(name: string): Promise<void> {
    const path = `/v1/kmip/devices?search=${encodeURIComponent(name)}`
    for (const end = Date.now() + 60_000; Date.now() < end; )
      if (((await console.admin('kms', 'GET', path)) as unknown[]).length > 0) return
    assert.fail(`${name} is not listed`)
  }
  const read = async (page: Page, button: string): Promise<{ name: string; text: string }> => {
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ])
    return { name: saved.suggestedFilename(), text: readFileSync(await saved.path(), 'utf8') }
  }

  it('lists devices with hostile names, filters them, and copies the table', async () => {
    await issue(hostile)
    await issue('disk-1', '--days', '20')
    await waitForDevice('disk-1')
    await using opened = await openAsAdmin('/ui/devices')
    const { page } = opened
    await page.getByRole('link', { name: hostile }).waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    const csv = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.match(csv, /\r\n"?'=<img src/)
    await page.getByLabel('Certificate ends').selectOption('30')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('link', { name: hostile }).waitFor({ state: 'detached' })
    await page.getByText('ends soon').waitFor()
    await page.getByLabel('Name contains').fill('nothing like this')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('No device matches').waitFor()
    await opened.assertAccessible()
    await opened.goTo('kms', `/ui/device?${new URLSearchParams({ name: hostile })}`)
    await page.getByText('the local authority', { exact: true }).waitFor()
    await page.getByText('warder kmip revoke-certificate').waitFor()
    await opened.assertAccessible()
  })

  it('blocks a device after the dialog has named it, and unblocks it', async () => {
    await issue('disk-2')
    await waitForDevice('disk-2')
    await using opened = await openAsAdmin('/ui/device?name=disk-2')
    const { page } = opened
    await page.getByRole('button', { name: 'Block now' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('disk-2').first().waitFor()
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Block now' }).click()
    await page.locator('.status').filter({ hasText: 'blocked' }).waitFor()
    await page.getByRole('button', { name: 'Unblock' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unblock' }).click()
    await page.locator('.facts .status').filter({ hasText: 'valid' }).waitFor()
    opened.assertNoErrors()
  })

  it('issues a certificate as files, whose key the service never gets, and forgets the key', async () => {
    const authority = (await console.admin('kms', 'POST', '/v1/pki/authorities', {
      ...{ alg: 'ES256', subject: 'CN=Devices' },
    })) as { readonly id: string }
    await issue('disk-3')
    await waitForDevice('disk-3')
    await using opened = await openAsAdmin('/ui/device?name=disk-3')
    const { page } = opened
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.getByText('Issue a certificate').first().click()
    await page.getByLabel('Valid for (days)').fill('30')
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Issue a certificate' }).click()
    await page.getByRole('region', { name: 'Files of the device' }).waitFor()
    await opened.assertAccessible()
    const [chain, key] = [
      await read(page, 'Save the certificate and its chain'),
      await read(page, 'Save the private key'),
    ]
    assert.deepEqual([chain.name, key.name], ['disk-3.crt', 'disk-3.key'])
    const certificate = new X509Certificate(chain.text)
    assert.ok(certificate.checkPrivateKey(createPrivateKey(key.text)))
    assert.equal(certificate.subject, 'CN=disk-3')
    assert.equal(chain.text.match(/BEGIN CERTIFICATE/g)?.length, 2)
    const secret = key.text.split('\n')[1] ?? ''
    assert.ok(secret.length > 40)
    for (const text of [...sent, page.url(), await page.content()]) assert.ok(!text.includes(secret))
    await page.getByRole('button', { name: 'Both are saved' }).click()
    await page.getByRole('button', { name: 'Save the private key' }).waitFor({ state: 'detached' })
    const listed = await console.admin('kms', 'GET', `/v1/pki/authorities/${authority.id}/certificates`)
    const profiles = (listed as readonly { readonly profile: string }[]).map(({ profile }) => profile)
    assert.ok(profiles.includes('client'), profiles.join())
    opened.assertNoErrors()
  })

  it('shows users without rights neither devices nor whether they exist', async () => {
    await using opened = await console.open({ colorScheme: 'dark', width: 375 })
    const { page } = opened
    await opened.logInAtKms('/ui/devices', '_', 'bob', 'the password of bob')
    await page.getByText('No device is known yet').waitFor()
    await page.getByText('warder kmip certificate storage-1').waitFor()
    await opened.assertAccessible()
    for (const name of ['disk-1', 'no-such']) {
      await opened.goTo('kms', `/ui/device?name=${name}`)
      await page.getByText('Only crypto officers see other devices').waitFor()
    }
    await opened.goTo('kms', '/ui/device?name=bob')
    await page.getByText('This device is not known').waitFor()
    await opened.assertAccessible()
  })
})
