import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listChangedSettings } from './changed-settings.ts'
import { boolean, integer, list, optionalText, type Setting } from './setting.ts'

const secret: Setting<string | undefined> = { type: 'secret', default: undefined, docs: '' }
const table = {
  port: integer({ default: 9998, docs: '' }),
  on: boolean({ default: false, docs: '' }),
  hosts: list({ default: ['a'], docs: '' }),
  url: optionalText({ docs: '' }),
  urls: list({ default: [], docs: '' }),
  file: optionalText({ docs: '' }),
  password: secret,
  pins: { ...list({ default: [], docs: '' }), secret: true },
  'notice.webhook_url': optionalText({ docs: '' }),
}

test('settings with their default are left out, and secrets have no value', () => {
  const values = {
    ...{ port: 9998, on: true, hosts: ['a'], file: 'tls/a.crt', url: undefined, urls: [] },
    ...{ password: 'hunter2', pins: ['1234'] },
  }
  const provenance = { on: 'flag', file: 'file', password: 'environment', port: 'file' } as const
  assert.deepEqual(listChangedSettings(table, { values, provenance }), [
    { name: 'on', from: 'flag', value: true },
    { name: 'file', from: 'file', value: 'tls/a.crt' },
    { name: 'password', from: 'environment' },
    { name: 'pins', from: 'default' },
  ])
})

test('addresses are listed without users, passwords and queries', () => {
  const shown = {
    'https://ann:secret@host/path?token=secret': 'https://…@host/path?…',
    'https://ann:se@cret@host': 'https://…@host',
    'https://host/a@b': 'https://host/a@b',
    'https://ann:blank secret@host/?a blank secret': 'https://…@host/?…',
    'https://host?secret,https://other?secret': 'https://host?…',
    'name=https://host?secret': 'name=https://host?…',
    'pkcs11:token=a?pin-value=secret': 'pkcs11:token=a?…',
    'what?': 'what?',
  }
  const url = 'https://secret@host'
  const values = { ...{ port: 9998, on: false, hosts: ['a'] }, url, urls: Object.keys(shown) }
  const [first, second] = listChangedSettings(table, { values: { ...values, pins: [] }, provenance: {} })
  assert.equal(first?.value, 'https://…@host')
  assert.deepEqual(second?.value, Object.values(shown))
})

test('addresses of webhooks are listed without their path', () => {
  const values = { ...{ port: 9998, on: false, hosts: ['a'], urls: [], pins: [] } }
  for (const [address, shown] of [
    ['https://host/services/secret', 'https://host/…'],
    ['https://ann@host:8443/secret?token=secret', 'https://…@host:8443/…'],
    ['https://host', 'https://host'],
  ]) {
    const [only] = listChangedSettings(table, {
      values: { ...values, 'notice.webhook_url': address },
      provenance: {},
    })
    assert.equal(only?.value, shown)
  }
})
