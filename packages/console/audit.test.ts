import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newUser } from 'warder/testing'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

const hostileName = '<img src=x onerror=alert(1)>'

describe('the audit log in the console', { skip: missingChromium }, () => {
  let console: Console
  before(async () => {
    console = await startConsole()
    await newUser(console.installation, 'bob')
  })
  after(() => console?.[Symbol.asyncDispose]())

  it('searches, shows a record, and verifies the chain', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.goTo('auth', '/ui/login?realm=_')
    await page.getByLabel('Username').fill(hostileName)
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await opened.logIn('_', 'admin', console.installation.password)
    await opened.goTo('auth', '/ui/audit')
    await page.getByLabel('Operation (crypto.*)').fill('login')
    await page.getByLabel('Outcome').selectOption('failure')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText(hostileName).first().waitFor()
    await page.getByRole('button', { name: 'login', exact: true }).first().click()
    const dialog = page.getByRole('dialog')
    assert.match((await dialog.textContent()) ?? '', /"outcome": "failure"/)
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByRole('button', { name: 'Verify the log' }).click()
    await page.getByText(/intact, \d+ records/).waitFor()
    await opened.assertAccessible()
  })

  it('shows the newest records as they are written, and reads nothing while the page is hidden', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.logIn('_', 'admin', console.installation.password)
    await page.clock.install()
    await opened.goTo('auth', '/ui/audit?operation=realms.list')
    const follow = page.getByLabel('Show the newest records')
    await page.getByText('No record matches').or(page.getByRole('table')).waitFor()
    let reads = 0
    page.on('request', (request) => {
      if (request.url().includes('/v1/audit/records')) reads += 1
    })
    const read = () => page.waitForResponse((response) => response.url().includes('/v1/audit/records'))
    await Promise.all([read(), follow.check()])
    await console.admin('auth', 'GET', '/admins/realms')
    await Promise.all([read(), page.clock.runFor(6000)])
    await page.getByRole('button', { name: 'realms.list' }).first().waitFor()
    const show = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
    await show('hidden')
    const before = reads
    assert.ok(before >= 2)
    await page.clock.runFor(60_000)
    assert.equal(reads, before)
    await Promise.all([read(), show('visible')])
  })

  it('counts requests and refusals over time, also as a table', async () => {
    await using opened = await console.open({ colorScheme: 'dark' })
    const { page } = opened
    await opened.logIn('_', 'admin', console.installation.password)
    await opened.goTo('auth', '/ui/audit?operation=login')
    const chart = page.getByRole('img', { name: /^\d+ requests, \d+ of them refused or failed$/ })
    await chart.locator('canvas').waitFor()
    await opened.assertAccessible()
    await page.getByRole('combobox', { name: 'Time', exact: true }).selectOption('7 days, by hour')
    await chart.locator('canvas').waitFor()
    await page.getByText('The counts as a table').click()
    const table = page.getByRole('table', { name: 'Requests by time' })
    await table.getByRole('columnheader', { name: 'Refused or failed' }).waitFor()
    await opened.assertAccessible()
    const copy = async (item: string): Promise<string> => {
      const section = page.getByRole('region', { name: 'Uses and refusals over time' })
      await section.getByRole('button', { name: 'Copy table' }).click()
      await page.getByRole('menuitem', { name: item }).click()
      return page.evaluate<string>('navigator.clipboard.readText()')
    }
    const command = await copy('The command that does the same')
    assert.match(command, /^warder audit count --service auth --step hour --operation login --since 20\S+Z$/)
    const csv = await copy('As CSV')
    assert.match(csv, /^From,Requests,Refused or failed\r\n20\S+Z,\d+,\d+\r\n/)
    const [row = assert.fail()] = JSON.parse(await copy('As JSON'))
    assert.ok(row.Requests >= 2 && row['Refused or failed'] >= 1, JSON.stringify(row))
    await opened.goTo('auth', '/ui/audit?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z')
    await page.getByRole('img', { name: '0 requests, 0 of them refused or failed' }).waitFor()
    assert.equal(await page.getByRole('combobox', { name: 'Time', exact: true }).count(), 0)
    opened.assertNoErrors()
  })

  it('asks a service that fails no more until the user does', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.logIn('_', 'admin', console.installation.password)
    let requests = 0
    await page.route('**/v1/audit/counts?*', async (route) => {
      requests += 1
      // The client repeats no request that is answered 500.
      if (requests > 1)
        return route.fulfill({ status: 500, json: { error: 'internal_error', description: 'No.' } })
      await route.fulfill({ json: { buckets: [], nodes: [] }, headers: { 'X-Next-After': 'cursor' } })
    })
    await opened.goTo('auth', '/ui/audit')
    const section = page.getByRole('region', { name: 'Uses and refusals over time' })
    await section.getByRole('alert').waitFor()
    // Meanwhile the page would have asked again.
    await page.evaluate("fetch('/ui/info').then((reply) => reply.text())")
    assert.equal(requests, 2)
  })

  it('is refused to a user without the right, with the reason', async () => {
    await using opened = await console.open({ colorScheme: 'dark', width: 375 })
    await opened.logIn('_', 'bob', 'the password of bob')
    await opened.goTo('auth', '/ui/audit')
    await opened.page.getByRole('alert').waitFor()
    assert.equal(await opened.page.getByRole('table').count(), 0)
    await opened.assertAccessible()
  })
})
