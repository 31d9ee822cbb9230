import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSecureContext, getCiphers } from 'node:tls'
import { StartupError } from '@warder/base'
import fc from 'fast-check'
import { chooseCiphers, intermediateSuites } from './profile.ts'

const assertRefused = (setting: string, reason: RegExp) =>
  assert.throws(
    () => chooseCiphers(setting),
    (error: unknown) => {
      assert.ok(error instanceof StartupError, String(error))
      assert.match(error.message, reason)
      assert.ok(!error.message.includes('\n'))
      return true
    },
  )

test('without a setting the intermediate profile of Mozilla, version 5, is offered', () => {
  assert.deepEqual(chooseCiphers(undefined), {
    ciphers:
      'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:' +
      'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:' +
      'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:' +
      'DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384',
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
  })
})

test('OpenSSL knows every suite that is offered', () => {
  const known = getCiphers()
  for (const name of intermediateSuites) {
    assert.ok(known.includes(name.toLowerCase()), name)
    createSecureContext({ ...chooseCiphers(name) })
  }
})

test('a suite is known by its name in OpenSSL and by its name at IANA, in any case', () => {
  const pairs = [
    ['ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'],
    ['ECDHE-RSA-AES256-GCM-SHA384', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'],
    ['ECDHE-RSA-CHACHA20-POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'],
    ['DHE-RSA-AES128-GCM-SHA256', 'TLS_DHE_RSA_WITH_AES_128_GCM_SHA256'],
    ['TLS_AES_256_GCM_SHA384', 'tls_aes_256_gcm_sha384'],
  ] as const
  for (const [openSsl, iana] of pairs) {
    assert.equal(chooseCiphers(iana).ciphers, openSsl)
    assert.equal(chooseCiphers(openSsl.toLowerCase()).ciphers, openSsl)
  }
})

test('names are separated by colons, commas or blanks, and a name written twice counts once', () => {
  const { ciphers } = chooseCiphers(
    ' TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256 ,',
  )
  assert.equal(ciphers, 'TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256')
})

test('the versions follow from the suites: only those of TLS 1.3 mean TLS 1.3 only', () => {
  const versions = (setting: string) => {
    const { minVersion, maxVersion } = chooseCiphers(setting)
    return [minVersion, maxVersion]
  }
  assert.deepEqual(versions('TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384'), ['TLSv1.3', 'TLSv1.3'])
  assert.deepEqual(versions('ECDHE-RSA-AES128-GCM-SHA256'), ['TLSv1.2', 'TLSv1.2'])
  assert.deepEqual(versions('ECDHE-RSA-AES128-GCM-SHA256,TLS_AES_128_GCM_SHA256'), ['TLSv1.2', 'TLSv1.3'])
})

test('a suite that is unknown, too weak, or a word of the cipher language stops the start', () => {
  for (const name of [
    'AES128-SHA',
    'ECDHE-RSA-AES128-SHA',
    'ECDHE-RSA-AES128-SHA256',
    'TLS_RSA_WITH_AES_128_GCM_SHA256',
    'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
    'ADH-AES128-GCM-SHA256',
    'NULL-SHA256',
    'TLS_AES_128_CCM_SHA256',
    'ALL',
    'DEFAULT',
    'HIGH',
    '!aNULL',
    '+SHA1',
    '@SECLEVEL=0',
    'constructor',
    '__PROTO__',
    'TOSTRING',
  ]) {
    assertRefused(name, /tls_cipher_suites: '.*' is unknown or not supported; supported are: TLS_AES_128/)
    assertRefused(`TLS_AES_128_GCM_SHA256:${name}`, /unknown/)
  }
})

test('an empty list stops the start', () => {
  for (const setting of ['', ' ', ':', ',,', '\n']) assertRefused(setting, /empty/)
})

test('any text is a choice among the offered suites, or stops the start', () => {
  const name = fc.oneof(fc.constantFrom(...intermediateSuites), fc.string({ maxLength: 12 }))
  fc.assert(
    fc.property(fc.array(name, { maxLength: 4 }), (names) => {
      try {
        const { ciphers } = chooseCiphers(names.join(':'))
        for (const one of ciphers.split(':')) assert.ok(intermediateSuites.includes(one), one)
      } catch (error) {
        assert.ok(error instanceof StartupError, String(error))
      }
    }),
  )
})
