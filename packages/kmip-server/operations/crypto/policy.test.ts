import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { integer, Tag } from '@warder/kmip-codec'
import { startKms } from '@warder/kms/testing'
import {
  data,
  hashing,
  kmipFixture,
  mode,
  oasisData,
  padding,
  parameters,
  readBytes,
  use,
} from '../../testing/kmip-fixture.ts'
import { uid } from '../../testing/nodes.ts'

const refusal = 'UnsupportedCryptographicParameters'

test('the algorithm policy applies to every operation of a message', async () => {
  await using kms = await startKms({ config: { 'kmip.policy_id': 'DEFAULT' } })
  const { alice, registerKey, createPair } = kmipFixture(kms)
  const id = await registerKey(randomBytes(32), 'AES')
  await alice.do('Encrypt', [uid(id), data(oasisData)])
  await alice.fails('Encrypt', [uid(id), parameters(mode('ECB')), data(oasisData)], refusal)
  await alice.fails('Encrypt', [uid(id), parameters(mode('CBC')), data(oasisData)], refusal)
  await alice.do('MAC', [uid(id), parameters(hashing('SHA_256')), data(oasisData)])
  await alice.fails('MAC', [uid(id), parameters(hashing('SHA_1')), data(oasisData)], refusal)
  await alice.do('Hash', [parameters(hashing('SHA3_256')), data(oasisData)])
  await alice.fails('Hash', [parameters(hashing('SHA_1')), data(oasisData)], refusal)
  const rsa = await createPair('RSA', integer(Tag.CryptographicLength, 3072))
  await alice.do('Sign', [uid(rsa.priv), data(oasisData)])
  await alice.fails('Sign', [uid(rsa.priv), parameters(padding('PKCS1V1_5')), data(oasisData)], refusal)
  await alice.do('Encrypt', [uid(rsa.pub), data(oasisData)])
  await alice.fails('Encrypt', [uid(rsa.pub), parameters(padding('PKCS1V1_5')), data(oasisData)], refusal)
  const ec = await createPair('Ed25519')
  const signed = await alice.do('Sign', [uid(ec.priv), data(oasisData)])
  assert.equal(readBytes(signed, Tag.SignatureData).length, 64)
})

test('FIPS mode allows only approved algorithms, and no Unrestricted usage mask', async () => {
  await using kms = await startKms({ config: { fips: true } })
  const { alice, registerKey, createPair } = kmipFixture(kms)
  const id = await registerKey(randomBytes(32), 'AES')
  await alice.do('Encrypt', [uid(id), data(oasisData)])
  await alice.fails('Encrypt', [uid(id), parameters(mode('GCM_SIV')), data(oasisData)], refusal)
  await alice.fails('MAC', [uid(id), parameters(hashing('MD5')), data(oasisData)], refusal)
  await alice.fails('Hash', [parameters(hashing('RIPEMD_160')), data(oasisData)], refusal)
  const rsa = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  await alice.fails('Sign', [uid(rsa.priv), parameters(hashing('SHA_1')), data(oasisData)], refusal)
  await alice.fails('Encrypt', [uid(rsa.pub), parameters(padding('PKCS1V1_5')), data(oasisData)], refusal)
  const free = await registerKey(
    randomBytes(16),
    'AES',
    integer(Tag.CryptographicUsageMask, use.Unrestricted),
  )
  await alice.fails('Encrypt', [uid(free), data(oasisData)], 'IncompatibleCryptographicUsageMask')
})
