import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sendDueNotices, startSmtpServer } from '@warder/runtime/testing'
import { authNotices } from '../notices.ts'
import { startAuth, type TestService, testAuthority } from '../testing/start.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-auth-mail-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function startWithMail() {
  const authority = await testAuthority()
  const smtp = await startSmtpServer({ ...(await authority.issue('localhost', 'server')), tls: 'starttls' })
  const smtp_ca_file = join(folder, 'ca.pem')
  writeFileSync(smtp_ca_file, authority.certificatePem)
  const auth = await startAuth({
    config: {
      ...{ notices: ['login.failed=email'], smtp_host: 'localhost', smtp_port: smtp.port, smtp_ca_file },
      ...{ notice_from: 'warder@example.com', notice_to: ['security@example.com'] },
    },
  })
  return { auth, smtp }
}

/** The periodic work of the primary. */
async function send({ environment, services }: TestService): Promise<void> {
  const { receivers } = services
  await sendDueNotices({ ...environment, receivers, events: authNotices.events })
}

test('failed logins of an administrator are one mail at once and one in ten minutes; those of others are none', async () => {
  const { auth, smtp } = await startWithMail()
  const told: string[] = []
  const { notices } = auth.services
  assert.ok(notices)
  const tell = notices.tell
  notices.tell = async (event, about, more) => {
    await tell(event, about, more)
    told.push(event)
  }
  const fail = async (basic: string) => {
    const { status } = await auth.call('POST', '/login?realm=_', { basic })
    assert.equal(status, 401)
    auth.clock.advance(20)
  }
  const until = async (count: number) => {
    while (told.length < count) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await fail('nobody:tr0ub4dor')
  await fail('admin:tr0ub4dor')
  await until(1)
  await send(auth)
  await fail('admin:tr0ub4dor2')
  await fail('admin:tr0ub4dor')
  await until(3)
  assert.deepEqual(told, ['login.failed', 'login.failed', 'login.failed'])
  auth.clock.advance(60)
  await send(auth)
  assert.equal(smtp.mails.length, 1)
  const { data = '' } = smtp.mails[0] ?? {}
  assert.match(data, /^Subject: Warder auth on test: a login of an administrator failed\r$/m)
  assert.match(data, /^ {2}user: admin\r$/m)
  assert.match(data, /^ {2}address: 127\.0\.0\.1\r$/m)
  assert.doesNotMatch(data, /tr0ub4dor/)
  auth.clock.advance(600)
  await send(auth)
  assert.equal(smtp.mails.length, 2)
  assert.match(smtp.mails[1]?.data ?? '', /^ {2}times: 2\r$/m)
  await auth[Symbol.asyncDispose]()
  await smtp.close()
})

test('super administrators test the receivers, and see what they replied; others may not', async () => {
  const { auth, smtp } = await startWithMail()
  const cookie = await auth.superCookie()
  const { status, json } = await auth.call('POST', '/notices/test', { cookie, json: {} })
  assert.equal(status, 200)
  assert.deepEqual(json, {
    receivers: [
      { to: 'webhook', outcome: 'not_configured', reply: 'The settings name no such receiver.' },
      { to: 'email', outcome: 'delivered', reply: '250 2.0.0 queued as 7F3A' },
    ],
  })
  assert.equal((await auth.call('POST', '/notices/test', { json: {} })).status, 401)
  assert.equal(smtp.mails.length, 1)
  await auth[Symbol.asyncDispose]()
  await smtp.close()
})
