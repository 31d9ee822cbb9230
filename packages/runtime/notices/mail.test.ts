import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { startProxy } from '@warder/outbound/testing'
import { ensureLocalAuthority } from '@warder/server'
import { issue } from '@warder/server/testing'
import { type NoticeConfig, noticeSettings } from '../config/notice-settings.ts'
import { type SmtpServerOptions, startSmtpServer } from '../testing/smtp-server.ts'
import type { OutgoingNotice } from './mail-text.ts'
import { type NoticeDefinition, validateNoticeSettings } from './notices.ts'
import { createMailer, NotDelivered } from './receivers.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-mail-'))
before(async () => {
  const certificates = [{ name: 'mail', commonName: 'mail' }]
  await ensureLocalAuthority({ folder, clock: systemClock, certificates })
  await ensureLocalAuthority({ folder: join(folder, 'other'), clock: systemClock, certificates })
})
after(() => rmSync(folder, { recursive: true, force: true }))

const pem = (name: string): string => readFileSync(join(folder, name), 'utf8')

const defaults = Object.fromEntries(
  Object.entries(noticeSettings(['key.ending'], '')).map(([name, setting]) => [name, setting.default]),
) as unknown as NoticeConfig

function config(changes: Partial<NoticeConfig>) {
  return {
    ...defaults,
    smtp_host: 'localhost',
    notice_from: 'warder@example.com',
    notice_to: ['security@example.com', 'ops@example.com'],
    smtp_ca_file: 'ca.crt',
    outbound_ca_file: undefined,
    outbound_allow_private_networks: false,
    outbound_proxy: undefined,
    outbound_proxy_credentials_file: undefined,
    outbound_proxy_resolves: false,
    outbound_no_proxy: [],
    ...changes,
  }
}

async function startMail(changes: Partial<NoticeConfig> = {}, options: Partial<SmtpServerOptions> = {}) {
  const tls = changes.smtp_tls ?? 'starttls'
  const server = await startSmtpServer({ cert: pem('mail.crt'), key: pem('mail.key'), tls, ...options })
  const settings = config({ smtp_port: server.port, ...changes })
  const mailer = createMailer({
    config: settings,
    home: folder,
    service: 'kms',
    node: 'n1',
    clock: systemClock,
    timeoutMs: options.script?.includes('hangs') === true ? 1500 : 30_000,
  })
  return { ...server, mailer }
}

function notice(fields: object, more: Partial<OutgoingNotice> = {}): OutgoingNotice {
  const event = 'key.ending'
  return {
    id: '0f6b2b1e-5a4d-4b39-9c55-1f6cf6a8d6a1',
    ...{ event, severity: 'warning', text: 'a key will end soon' },
    body: JSON.stringify({ event, at: '2026-11-27T14:00:00.000Z', ...fields }),
    ...more,
  }
}

const fails = (promise: Promise<unknown>, message: RegExp) =>
  assert.rejects(promise, (error: Error) => {
    assert.ok(error instanceof NotDelivered, String(error))
    assert.match(error.message, message)
    return true
  })

for (const smtp_tls of ['starttls', 'implicit', 'none'] as const) {
  test(`a mail is delivered with smtp_tls = ${smtp_tls}, and the reply of the server returned`, async () => {
    const { mailer, mails, close } = await startMail({ smtp_tls })
    const reply = await mailer.deliver([notice({ key: 'ledger', ends_at: '2026-12-01' })])
    assert.equal(reply, '250 2.0.0 queued as 7F3A')
    const [mail] = mails
    assert.equal(mail?.isEncrypted, smtp_tls !== 'none')
    assert.match(mail?.from ?? '', /^MAIL FROM:<warder@example\.com>/)
    assert.equal(mail?.to.length, 2)
    assert.match(mail?.data ?? '', /^Subject: Warder kms on n1: a key will end soon\r$/m)
    assert.match(mail?.data ?? '', /^Message-ID: <0f6b2b1e-[^>]+@warder\.invalid>\r$/im)
    assert.match(mail?.data ?? '', /^ {2}key: ledger\r$/m)
    await close()
  })
}

test('the user and the password of the file are sent, and only over TLS', async () => {
  writeFileSync(join(folder, 'password'), 'tree house\n', { mode: 0o600 })
  const login = { smtp_username: 'warder', smtp_password_file: 'password' }
  const { mailer, mails, close } = await startMail(login)
  await mailer.deliver([notice({})])
  assert.deepEqual(mails[0]?.login, ['warder', 'tree house'])
  writeFileSync(join(folder, 'password'), 'wrong\n')
  await fails(mailer.deliver([notice({})]), /535 5\.7\.8 authentication failed/)
  chmodSync(join(folder, 'password'), 0o644)
  await fails(mailer.deliver([notice({})]), /can be read by others/)
  await close()
})

test('a server without STARTTLS gets no message, and a reply that is injected before TLS is ignored', async () => {
  const { mailer, mails, close } = await startMail({}, { script: ['offers no TLS', 'injects'] })
  await fails(mailer.deliver([notice({})]), /502 5\.5\.1/)
  assert.equal(mails.length, 0)
  assert.equal(await mailer.deliver([notice({})]), '250 2.0.0 queued as 7F3A')
  assert.equal(mails[0]?.isEncrypted, true)
  await close()
})

test('a server with the certificate of another authority gets no message', async () => {
  for (const smtp_tls of ['starttls', 'implicit'] as const) {
    const other = { cert: pem('other/mail.crt'), key: pem('other/mail.key') }
    const { mailer, mails, close } = await startMail({ smtp_tls }, other)
    await fails(mailer.deliver([notice({})]), /certificate/)
    assert.equal(mails.length, 0)
    await close()
  }
})

test('a server that hangs, floods, refuses or hangs up is an error that is printable and bounded', async () => {
  const script = ['hangs', 'floods', 'refuses', 'is busy', 'hangs up'] as const
  const { mailer, close, connections } = await startMail({}, { script: [...script] })
  await fails(mailer.deliver([notice({})]), /within 1\.5 s|timeout/i)
  await fails(mailer.deliver([notice({})]), /./)
  await fails(mailer.deliver([notice({})]), /^[^\p{Cc}]*550[^\p{Cc}]{0,300}$/u)
  await fails(mailer.deliver([notice({})]), /^451 4\.3\.0 try again later$/)
  await fails(mailer.deliver([notice({})]), /./)
  assert.equal(connections(), 5)
  await close()
  await fails(mailer.deliver([notice({})]), /ECONNREFUSED/)
})

test('no field of a notice reaches a header, another line, a command or the recipients', async () => {
  const { mailer, mails, close } = await startMail()
  const hostile = 'x\r\n.\r\nMAIL FROM:<eve@example.com>\r\nBcc: eve@example.com\u2028\u202Eevil\u0085\0'
  await mailer.deliver([
    notice(
      { key: hostile, [hostile]: hostile, deep: { list: [hostile, { [hostile]: hostile }] } },
      { event: hostile },
    ),
  ])
  assert.equal(mails.length, 1)
  const { data = '', to = [] } = mails[0] ?? {}
  assert.equal(to.length, 2)
  const [head = '', ...body] = data.split('\r\n\r\n')
  assert.doesNotMatch(head, /eve/)
  assert.match(head, /^Auto-Submitted: auto-generated\r$/im)
  for (const line of body.join('\n').split('\r\n')) assert.doesNotMatch(line, /^\s*(?:MAIL|Bcc|\.$)/)
  await close()
})

test('many notices are one mail, whose length is bounded', async () => {
  const { mailer, mails, close } = await startMail()
  const large = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`field${at}`, 'y'.repeat(2000)]))
  await mailer.deliver(Array.from({ length: 100 }, () => notice(large, { severity: 'critical' })))
  assert.equal(mails.length, 1)
  assert.match(mails[0]?.data ?? '', /^Subject: \[critical\] Warder kms on n1: 100 notices\r$/m)
  assert.ok((mails[0]?.data.length ?? 0) < 1_000_000, String(mails[0]?.data.length))
  await close()
})

test('mail takes a tunnel of the proxy, behind which TLS begins', async () => {
  const { certificatePem: cert, keyPem: key } = await issue({ hostnames: ['mail.example'] })
  writeFileSync(join(folder, 'proxied.crt'), cert)
  const proxy = await startProxy()
  const server = await startSmtpServer({ cert, key, tls: 'starttls' })
  const mailer = createMailer({
    config: {
      ...config({ smtp_host: 'mail.example', smtp_port: server.port, smtp_ca_file: 'proxied.crt' }),
      ...{ outbound_proxy: proxy.url, outbound_proxy_resolves: true },
    },
    home: folder,
    service: 'kms',
    node: 'n1',
    clock: systemClock,
  })
  assert.match(await mailer.deliver([notice({})]), /^250 /)
  assert.deepEqual(
    proxy.seen.map(({ method, target }) => `${method} ${target}`),
    [`CONNECT mail.example:${server.port}`],
  )
  assert.equal(server.mails[0]?.isEncrypted, true)
  proxy.fault = () => ({ status: 403, text: '' })
  await fails(
    mailer.deliver([notice({})]),
    /the proxy \S+ refused a connection to mail\.example:\d+ with 403/,
  )
  await server.close()
  await proxy.close()
})

test('a private mail server requires outbound_allow_private_networks', async () => {
  const settings = config({ smtp_host: '10.255.255.1' })
  const mailer = createMailer({
    config: settings,
    home: folder,
    service: 'kms',
    node: 'n1',
    clock: systemClock,
  })
  await fails(mailer.deliver([notice({})]), /outbound_allow_private_networks/)
})

test('settings that contradict each other are refused by name', () => {
  const definition: NoticeDefinition<NoticeConfig> = {
    events: { 'key.ending': { kind: 'key.ending', severity: 'warning', text: 'a key will end soon' } },
    webhookSettings: 'webhook_url',
    webhook: () => undefined,
  }
  const refused = (changes: Partial<NoticeConfig>, message: RegExp) =>
    assert.throws(
      () => validateNoticeSettings(definition, config(changes)),
      (error: Error) => error instanceof StartupError && message.test(error.message),
    )
  refused({ notice_to: [] }, /smtp_host requires notice_from and notice_to/)
  refused({ smtp_host: undefined }, /notice_from and notice_to require smtp_host/)
  refused({ smtp_tls: 'none', smtp_host: 'mail.example' }, /smtp_tls = "none" is permitted only/)
  refused({ smtp_username: 'warder' }, /smtp_password_file/)
  refused({ notices: ['key.ending=webhook'] }, /key\.ending by webhook, .* webhook_url/)
  validateNoticeSettings(definition, config({ smtp_tls: 'none', notices: ['*=email'] }))
  const { notices, notice_from, notice_to, smtp_host } = noticeSettings(['key.ending'], '')
  for (const [text, message] of [
    ['key.endin=email', /"key\.endin" is not a kind of notice; there are key\.ending, audit\.broken/],
    ['key.ending=fax', /"fax" is not a receiver/],
    ['key.ending', /must be like/],
    ['key.ending=email=webhook', /must be like/],
  ] as const)
    assert.match(notices.check?.([text]) ?? '', message)
  assert.match(notices.check?.(['key.ending=email', 'key.ending=none']) ?? '', /only once/)
  assert.equal(notices.check?.(['key.ending=email, webhook', '*=none']), undefined)
  for (const address of [
    'a@b\r\nBcc: c@d',
    'Eve <a@b>',
    'a@b,c@d',
    'a',
    '@b',
    'a@',
    'a b@c',
    'ä@example.com',
  ])
    assert.ok(notice_from.check?.(address) && notice_to.check?.([address]), address)
  for (const host of ['mail.example:25', 'a b', 'smtp://mail', '-x', ''])
    assert.ok(smtp_host.check?.(host), host)
})
