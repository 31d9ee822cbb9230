import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireOnly } from '@warder/crypto/testing'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { readParameters } from './parameters.ts'

const read = (...members: readonly TtlvNode[]) =>
  readParameters(structure(Tag.CryptographicParameters, members))

test('every member of CryptographicParameters is read by its name', () => {
  const pSource = Buffer.from('label')
  const all = read(
    enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
    enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod.OAEP),
    enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
    enumeration(Tag.KeyRoleType, Enumeration.KeyRoleType.DEK),
    enumeration(Tag.DigitalSignatureAlgorithm, Enumeration.DigitalSignatureAlgorithm.RSASSA_PSS),
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
    boolean(Tag.RandomIV, false),
    integer(Tag.IVLength, 96),
    integer(Tag.TagLength, 16),
    integer(Tag.FixedFieldLength, 32),
    integer(Tag.InvocationFieldLength, 64),
    integer(Tag.CounterLength, 32),
    integer(Tag.InitialCounterValue, 0),
    integer(Tag.SaltLength, 20),
    enumeration(Tag.MaskGenerator, Enumeration.MaskGenerator.MGF1),
    enumeration(Tag.MaskGeneratorHashingAlgorithm, Enumeration.HashingAlgorithm.SHA3_256),
    byteString(Tag.PSource, pSource),
    integer(Tag.TrailerField, 1),
  )
  assert.deepEqual(all, {
    blockCipherMode: 'GCM',
    paddingMethod: 'OAEP',
    hashingAlgorithm: 'SHA_256',
    keyRoleType: 'DEK',
    digitalSignatureAlgorithm: 'RSASSA_PSS',
    cryptographicAlgorithm: 'AES',
    randomIV: false,
    ivLength: 96,
    tagLength: 16,
    fixedFieldLength: 32,
    invocationFieldLength: 64,
    counterLength: 32,
    initialCounterValue: 0,
    saltLength: 20,
    maskGenerator: 'MGF1',
    maskGeneratorHashingAlgorithm: 'SHA3_256',
    pSource,
    trailerField: 1,
  })
  assert.deepEqual(read(), {})
})

test('an IVLength that is impossible in bits is read as bytes, as some clients send it', () => {
  const ivLength = (length: number) => read(integer(Tag.IVLength, length)).ivLength
  for (const [given, bits] of [
    [12, 96],
    [16, 128],
    [8, 64],
    [7, 56],
    [32, 256],
    [64, 64],
    [96, 96],
    [128, 128],
    [6, 6],
    [33, 33],
  ] as const)
    assert.equal(ivLength(given), bits)
})

test('unknown, repeated, mistyped and negative members are refused', () => {
  const mode = enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM)
  for (const [reason, ...members] of [
    ['InvalidField', integer(Tag.CryptographicLength, 1)],
    ['InvalidField', mode, mode],
    ['InvalidField', boolean(Tag.RandomIV, false), boolean(Tag.RandomIV, false)],
    ['InvalidField', integer(Tag.BlockCipherMode, 9)],
    ['InvalidField', integer(Tag.TagLength, -1)],
    ['InvalidField', longInteger(Tag.TagLength, 16n)],
    ['InvalidField', boolean(Tag.PSource, true)],
    ['UnknownEnumeration', enumeration(Tag.BlockCipherMode, 0x7fffffff)],
  ] as const)
    assert.throws(() => read(...members), { code: reason })
})

test('a member that has no effect is refused by its standard name; KeyRoleType is always accepted', () => {
  const only = new Set(['tagLength'] as const)
  const message = 'IVLength has no meaning for GMAC.'
  assert.throws(() => requireOnly({ ivLength: 96 }, 'GMAC', only), {
    code: 'unsupported',
    message,
  })
  assert.doesNotThrow(() => requireOnly({ keyRoleType: 'KEK', tagLength: 16 }, 'GMAC', only))
})
