import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { missingOpenssl } from '@warder/pki/testing'
import { newUser } from 'warder/testing'
import { type End, toIntervals } from './page/rooms/kms/certificates/ends.ts'
import { toTree } from './page/rooms/kms/certificates/tree.ts'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

const hostileSubject = 'CN=<img src=x onerror=alert(1)>'
/** RFC 4514 escapes some of its characters. */
const shownSubject = /img src.*onerror/

/** A request of a foreign program. */
function createRequest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'warder-csr-'))
  try {
    const file = join(folder, 'www.csr')
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null']
    const subject = ['-subj', '/CN=www.example', '-addext', 'subjectAltName=DNS:www.example']
    const { status, stderr } = spawnSync('openssl', ['req', '-new', ...key, ...subject, '-out', file])
    assert.equal(status, 0, String(stderr))
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it('shows each authority once in the tree, even where authorities certify each other', () => {
  const authority = (id: string, issuer: string | null) =>
    ({ id, issuer, subject: `CN=${id}` }) as Parameters<typeof toTree>[0][number]
  const tree = toTree([
    authority('leaf', 'middle'),
    authority('one', 'other'),
    authority('other', 'one'),
    authority('root', null),
    authority('middle', 'root'),
    authority('hidden', 'unknown'),
  ])
  const format = (branches: typeof tree): string =>
    branches
      .map(({ authority: { id }, below }) => (below.length === 0 ? id : `${id}(${format(below)})`))
      .join(' ')
  assert.equal(format(tree), 'hidden root(middle(leaf)) one(other)')
})

it('sorts ends into weeks from Monday and into months, each once', () => {
  const end = (day: string): End => ({
    ...{ serial: day, subject: '', not_after: `${day}T23:59:59Z`, renewal: 'none' },
    authority: { id: 'a', subject: 'CN=a' },
  })
  const ends = ['2026-11-29', '2026-11-30', '2026-12-31', '2027-01-01'].map(end)
  const [from, to] = [Date.parse('2026-11-28T12:00:00Z'), Date.parse('2027-01-02T00:00:00Z')]
  const format = (step: 'week' | 'month') =>
    toIntervals(ends, { from, to, step }).map(
      ({ first, last, ends: inside }) => `${first} ${last} ${inside.map(({ serial }) => serial).join(' ')}`,
    )
  assert.deepEqual(format('month'), [
    '2026-11-01 2026-11-30 2026-11-29 2026-11-30',
    '2026-12-01 2026-12-31 2026-12-31',
    '2027-01-01 2027-01-31 2027-01-01',
  ])
  assert.deepEqual(format('week').slice(0, 2), [
    '2026-11-23 2026-11-29 2026-11-29',
    '2026-11-30 2026-12-06 2026-11-30',
  ])
  assert.equal(format('week').at(-1), '2026-12-28 2027-01-03 2026-12-31 2027-01-01')
})

describe('certificates in the console', { skip: missingChromium || missingOpenssl }, () => {
  let console: Console
  before(async () => {
    console = await startConsole()
    await newUser(console.installation, 'bob')
  })
  after(() => console?.[Symbol.asyncDispose]())

  it('creates an authority, issues a certificate for a request, holds, releases and revokes it', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    await page.getByText('You may use no authority yet').waitFor()
    await page.getByText('Create an authority').first().click()
    await page.getByLabel('Subject').fill(hostileSubject)
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Create an authority' }).click()
    await page.getByRole('heading', { name: 'Issued certificates' }).waitFor()
    await page.getByText(shownSubject).first().waitFor()
    await page.getByText(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/).waitFor()
    await page.getByText('Issue a certificate for a request').first().click()
    await page.getByLabel('Request (PKCS#10, PEM)').fill(createRequest())
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Issue a certificate for a request' }).click()
    await page.getByRole('button', { name: 'Revoke' }).waitFor()
    await page
      .getByText(/^(?:DNS:)?www\.example$/)
      .first()
      .waitFor()
    await opened.assertAccessible()

    await revoke('certificateHold')
    await page.getByText('on hold').waitFor()
    await page.getByRole('button', { name: 'End the hold' }).click()
    await page
      .locator('.status')
      .filter({ hasText: /valid$/ })
      .waitFor()
    await revoke('superseded')
    await page.getByText('revoked: superseded').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
    opened.assertNoErrors()

    async function revoke(reason: string): Promise<void> {
      await page.getByRole('button', { name: 'Revoke' }).click()
      const dialog = page.getByRole('alertdialog')
      await dialog.getByLabel('Reason').selectOption(reason)
      await dialog.getByRole('button', { name: 'Revoke' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
  })

  it('shows authorities as a tree, with what they publish, and copies it', async () => {
    const create = (json: object) =>
      console.admin('kms', 'POST', '/v1/pki/authorities', { alg: 'ES256', ...json })
    const root = (await create({ subject: 'CN=Tree Root' })) as { readonly id: string }
    const below = (await create({ subject: 'CN=Tree Issuing', issuer: root.id })) as { readonly id: string }
    await console.admin('kms', 'POST', `/v1/pki/authorities/${below.id}/certificates`, {
      ...{ alg: 'ES256', names: ['tree.example'], days: 30 },
    })
    await using opened = await console.open()
    const { page } = opened
    await opened.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    const shown = page.getByRole('listitem').filter({ hasText: 'Tree Root' })
    const inner = shown.getByRole('listitem')
    assert.match((await inner.textContent()) ?? '', /^CN=Tree Issuing intermediate/)
    await shown.getByText(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/).waitFor()
    assert.equal(await inner.getByText(/^([0-9A-F]{2}:){31}/).count(), 0)
    assert.match((await inner.textContent()) ?? '', /Certificates not expired[12]/)
    await page.getByRole('button', { name: 'Copy table' }).click()
    await opened.assertAccessible()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    const csv = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.match(csv, /\r\nCN=Tree Issuing,CN=Tree Root,/)
    await inner.getByRole('link', { name: 'Tree Issuing' }).click()
    await page.getByRole('link', { name: 'Tree Root' }).waitFor()
    await opened.assertAccessible()
  })

  it('shows which certificates end and are not renewed, and changes that', async () => {
    const path = '/v1/pki/authorities'
    const create = async (url: string, json: object) =>
      (await console.admin('kms', 'POST', url, { alg: 'ES256', ...json })) as { readonly id: string }
    const root = await create(path, { subject: 'CN=Calendar' })
    const issue = (name: string, days: number) =>
      create(`${path}/${root.id}/certificates`, { subject: `CN=${name}`, names: [name], days })
    await issue('ends.example', 20)
    const gone = await issue('revoked.example', 20)
    await issue('later.example', 300)
    await console.admin('kms', 'POST', `/v1/pki/certificates/${gone.id}/revoke`, {})
    await using opened = await console.open()
    const { page } = opened
    await opened.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    await page.getByRole('link', { name: 'Calendar of ends' }).click()
    const table = page.getByRole('table', { name: 'Certificates that end' })
    const row = table.getByRole('row').filter({ hasText: 'CN=ends.example' })
    await row.getByText('not automatic').waitFor()
    for (const name of ['revoked.example', 'later.example'])
      assert.equal(await page.getByText(name).count(), 0, name)
    await page
      .getByRole('list', { name: 'Weeks' })
      .getByRole('button', { name: 'not renewed' })
      .first()
      .click()
    await row.waitFor()
    await opened.assertAccessible()
    await page.getByRole('combobox', { name: 'Time', exact: true }).selectOption('12 months, by month')
    await page.getByText('later.example').waitFor()
    await row.getByRole('link', { name: 'CN=ends.example' }).click()
    await page.getByText('not renewed automatically').waitFor()
    await page.getByText('Change the renewal').first().click()
    await page.getByLabel('Renew it before it ends').check()
    await page.getByText(/^warder pki auto-renew \S+$/).waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Change the renewal' }).click()
    await page
      .locator('.status')
      .filter({ hasText: /● renewed automatically$/ })
      .waitFor()
    await page.goBack()
    await row
      .locator('.status')
      .filter({ hasText: /● automatic$/ })
      .waitFor()
    await opened.assertAccessible()
  })

  it('opens an authority for ACME, creates a credential that is shown once, and closes it', async () => {
    const made = await console.admin('kms', 'POST', '/v1/pki/authorities', {
      ...{ alg: 'ES256', subject: 'CN=ACME' },
    })
    const { id } = made as { readonly id: string }
    await using opened = await console.open({ colorScheme: 'dark' })
    const { page } = opened
    await opened.logInAtKms(`/ui/authorities/${id}`, '_', 'admin', console.installation.password)
    await page.getByText('closed: no client gets a certificate').waitFor()
    await page.getByText('Open it for ACME').first().click()
    await page.getByLabel('Certificates are valid for (days)').fill('30')
    await page.getByLabel('dns-01').uncheck()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Open it for ACME' }).click()
    await page.getByText('open to accounts with a credential').waitFor()
    await page.getByText('server, for 30 days').waitFor()
    await page.getByText('http-01, tls-alpn-01').waitFor()
    await page.getByText('certbot certonly --standalone').waitFor()
    await page.getByText('Create a credential').first().click()
    await page.getByLabel('Name', { exact: true }).fill(hostileSubject)
    await page.getByRole('button', { name: 'Create a credential' }).click()
    const secret = page.getByRole('region', { name: 'HMAC key of the credential' })
    await secret.getByText('••••').waitFor()
    await page.getByText(/^certbot .* --eab-kid [\w-]+ --eab-hmac-key "\$HMAC_KEY" -d /).waitFor()
    const table = page.getByRole('table', { name: 'Credentials for new accounts' })
    await table.getByText(hostileSubject).waitFor()
    await opened.assertAccessible()
    await page.reload()
    await table.getByText(hostileSubject).waitFor()
    assert.equal(await secret.count(), 0)
    await table.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There is no credential').waitFor()
    await page.getByRole('button', { name: 'Close it for ACME' }).click()
    const dialog = page.getByRole('alertdialog')
    assert.match((await dialog.textContent()) ?? '', /Issued certificates stay valid/)
    await dialog.getByRole('button', { name: 'Close it for ACME' }).click()
    await page.getByText('closed: no client gets a certificate').waitFor()
    await opened.assertAccessible()
  })

  it('shows nothing of an authority to a user without a right on it', async () => {
    await using admin = await console.open()
    await admin.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    await admin.page.getByRole('link', { name: shownSubject }).click()
    await admin.page.getByRole('heading', { name: 'Issued certificates' }).waitFor()
    const path = new URL(admin.page.url()).pathname
    await using opened = await console.open({ colorScheme: 'dark', width: 375 })
    await opened.logInAtKms(path, '_', 'bob', 'the password of bob')
    await opened.page.getByRole('alert').waitFor()
    assert.equal(await opened.page.getByText(shownSubject).count(), 0)
    await opened.assertAccessible()
  })
})
