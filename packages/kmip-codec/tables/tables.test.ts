import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributeByLegacyName, attributeIn, attributes, findAttribute } from './attributes.ts'
import { algorithmIn, keyFormatIn } from './elliptic.ts'
import { Enumeration } from './enumerations.gen.ts'
import {
  type EnumerationName,
  findEnumeration,
  findMask,
  maskValueNames,
  valueByName,
  valueName,
} from './enumerations.ts'
import { normaliseName } from './names.ts'
import { type OperationName, objectTypeIn, operationByName, operationIn } from './operations.ts'
import { messageIn, type ResultReason, reasonIn } from './reasons.ts'
import { Tag } from './tags.gen.ts'
import { tagByName, tagIntroduced, tagName, tagText } from './tags.ts'
import { atLeast, isLegacy, kmipVersion, kmipVersions, listVersions, versionNumbers } from './versions.ts'

test('Every tag is found by its name and its number', () => {
  for (const [name, tag] of Object.entries(Tag)) {
    assert.equal(tagByName(name, true), tag)
    assert.equal(tagName(tag, true), name)
    const isOf30 = tag > Tag.AsynchronousCorrelationValues && tag < 0x430000
    assert.equal(tagByName(name), isOf30 ? undefined : tag)
    assert.equal(tagName(tag), isOf30 ? undefined : name)
  }
  assert.equal(Object.keys(Tag).length, new Set(Object.values(Tag)).size, 'no number twice')
})

test('Tags are read in other spellings and as numbers, and written by name where they have one', () => {
  for (const name of ['IVCounterNonce', 'IvCounterNonce', 'iv_counter_nonce', '0x42003D', '0x42003d'])
    assert.equal(tagByName(name), 0x42003d, name)
  assert.equal(tagByName('Pkcs12FriendlyName'), Tag.PKCS_12FriendlyName)
  assert.equal(tagByName('X509CertificateSubject'), Tag.X_509CertificateSubject)
  assert.equal(tagByName('0x540abc'), 0x540abc)
  assert.equal(tagText(0x540abc), '0x540ABC')
  assert.equal(tagText(Tag.Name), 'Name')
})

test('Unknown tags are not found', () => {
  for (const name of [
    '',
    'Nonsense',
    '0x43003D',
    '0x42',
    '__proto__',
    'constructor',
    'Na<me',
    'N'.repeat(1e6),
  ])
    assert.equal(tagByName(name), undefined, name.slice(0, 20))
})

test('Every value of every enumeration is found by its name and its number', () => {
  for (const enumeration of Object.keys(Enumeration) as EnumerationName[])
    for (const [name, value] of Object.entries(Enumeration[enumeration])) {
      assert.equal(valueByName(enumeration, name), value, `${enumeration}.${name}`)
      assert.equal(valueName(enumeration, value), name)
    }
})

test('Both common spellings and those of older clients are read', () => {
  const spellings: readonly (readonly [EnumerationName, string, number])[] = [
    ['HashingAlgorithm', 'SHA256', 6],
    ['HashingAlgorithm', 'SHA_256', 6],
    ['HashingAlgorithm', 'sha-256', 6],
    ['HashingAlgorithm', 'SHA3256', 0x0f],
    ['CryptographicAlgorithm', 'SHA3256', 0x20],
    ['CryptographicAlgorithm', 'THREE_DES', 2],
    ['CryptographicAlgorithm', '3DES', 2],
    ['CryptographicAlgorithm', 'ABE', 0x88800004],
    ['CryptographicAlgorithm', 'MLKEM_768', 0x3a],
    ['KeyFormatType', 'PKCS8', 4],
    ['KeyFormatType', 'AbeMasterPublicKey', 0x8880000d],
    ['MaskGenerator', 'MFG1', 1],
    ['PaddingMethod', 'PKCS1v15', 8],
    ['PaddingMethod', 'ANSI_X923', 6],
    ['ResultReason', 'Wrong_Key_Lifecycle_State', 0x43],
    ['State', 'Destroyed_Compromised', 6],
    ['State', 'Pre-Active', 1],
    ['ObjectGroupMember', 'Group_Member_Fresh', 1],
    ['RecommendedCurve', 'P256', 7],
    ['Operation', 'Mac', 0x23],
  ]
  for (const [enumeration, name, value] of spellings)
    assert.equal(valueByName(enumeration, name), value, `${enumeration} ${name}`)
  assert.equal(valueByName('State', 'toString'), undefined)
  assert.equal(valueName('State', 99), undefined)
})

test('A tag knows the enumeration or mask of its values', () => {
  assert.equal(findEnumeration(Tag.MaskGeneratorHashingAlgorithm), 'HashingAlgorithm')
  assert.equal(findEnumeration(Tag.LinkedObjectIdentifier), 'UniqueIdentifier')
  assert.equal(findEnumeration(Tag.NameValue), undefined)
  assert.equal(findEnumeration(0x540001), undefined)
  assert.equal(findMask(Tag.CryptographicUsageMask), 'CryptographicUsageMask')
  assert.equal(findMask(Tag.CryptographicLength), undefined)
  assert.deepEqual(maskValueNames('CryptographicUsageMask', 0x0c), ['Encrypt', 'Decrypt'])
  assert.equal(maskValueNames('CryptographicUsageMask', 0x4000000c), undefined)
})

test('Versions are compared and split into numbers', () => {
  assert.equal(kmipVersion(1, 4), '1.4')
  assert.equal(kmipVersion(3, 0), undefined)
  assert.equal(kmipVersion(3, 0, true), '3.0')
  assert.equal(kmipVersion(3, 1, true), undefined)
  assert.deepEqual(listVersions(true), ['3.0', ...listVersions(false)])
  assert.ok(atLeast('3.0', '2.1') && !atLeast('2.1', '3.0') && !isLegacy('3.0'))
  assert.equal(kmipVersion(1, 40), undefined)
  assert.deepEqual(versionNumbers('2.1'), { major: 2, minor: 1 })
  assert.ok(atLeast('2.0', '1.4') && atLeast('1.4', '1.4') && !atLeast('1.3', '1.4'))
  assert.deepEqual([...kmipVersions].sort().reverse(), kmipVersions)
})

test('Operations, object types and tags belong to versions', () => {
  const introduced = {
    Create: '1.0',
    ReKeyKeyPair: '1.1',
    Encrypt: '1.2',
    Import: '1.4',
    SetAttribute: '2.0',
    Ping: '2.1',
    CreateUser: '3.0',
  } as const
  for (const [name, version] of Object.entries(introduced))
    for (const candidate of kmipVersions) {
      const operation = operationByName(name)
      assert.ok(operation)
      assert.equal(operationIn(candidate, operation), atLeast(candidate, version), `${name} in ${candidate}`)
    }
  assert.equal(operationByName('Mac'), 'MAC')
  assert.equal(operationByName('Drop'), undefined)
  assert.ok(
    objectTypeIn('1.4', 'Template') && !objectTypeIn('2.0', 'Template') && !objectTypeIn('1.1', 'PGPKey'),
  )
  assert.equal(tagIntroduced(Tag.Fresh), '1.1')
  assert.equal(tagIntroduced(Tag.AuthenticatedEncryptionTag), '1.4')
  assert.equal(tagIntroduced(Tag.Attributes), '2.0')
  assert.equal(tagIntroduced(Tag.RotateLatest), '2.1')
  assert.equal(tagIntroduced(Tag.GroupLink), '3.0')
  assert.equal(tagIntroduced(0x540001), '1.0')
  assert.ok(objectTypeIn('3.0', 'Group') && !objectTypeIn('2.1', 'Group') && !objectTypeIn('3.0', 'Template'))
})

test('EC keys have the names of the version', () => {
  const { KeyFormatType: format, CryptographicAlgorithm: algorithm } = Enumeration
  for (const [name, number] of [
    ['TransparentECDSAPrivateKey', 0x0e],
    ['TransparentECDSAPublicKey', 0x0f],
    ['TransparentECDHPrivateKey', 0x10],
    ['TransparentECDHPublicKey', 0x11],
    ['TransparentECMQVPrivateKey', 0x12],
    ['TransparentECMQVPublicKey', 0x13],
  ] as const) {
    assert.equal(valueByName('KeyFormatType', name), number)
    assert.equal(valueName('KeyFormatType', number), name)
    const both = name.endsWith('PrivateKey') ? format.TransparentECPrivateKey : format.TransparentECPublicKey
    const use = valueByName('CryptographicAlgorithm', name.slice(11, name.indexOf('P', 11)))
    for (const version of kmipVersions) {
      assert.equal(keyFormatIn(version, number, use), isLegacy(version) ? number : both, `${name} ${version}`)
      assert.equal(keyFormatIn(version, both, use), atLeast(version, '1.3') ? both : number, version)
      assert.equal(keyFormatIn(version, format.PKCS_8, use), format.PKCS_8)
    }
  }
  assert.equal(keyFormatIn('1.2', format.TransparentECPublicKey, undefined), format.TransparentECDSAPublicKey)
  for (const version of kmipVersions) {
    const told = atLeast(version, '1.2') ? algorithm.EC : algorithm.ECDSA
    assert.equal(algorithmIn(version, algorithm.EC), told)
    assert.equal(algorithmIn(version, algorithm.ECDH), algorithm.ECDH)
  }
})

test('A specific message of 2.1 is DENIED in earlier versions', () => {
  for (const version of kmipVersions) {
    const precise = 'ACTIVATION_DATE:!PRE_ACTIVE'
    assert.equal(messageIn(version, precise), version === '2.1' ? precise : 'DENIED')
    assert.equal(messageIn(version, 'missing-iv'), 'missing-iv')
  }
})

test('A 1.x client gets the reason of a refusal, except where a public test case expects DENIED', () => {
  const told = (version: '1.0' | '1.4' | '2.0' | '2.1', ...why: readonly [ResultReason, OperationName]) =>
    messageIn(version, 'DENIED', ...why)
  for (const version of ['1.0', '1.4'] as const) {
    assert.equal(told(version, 'ObjectDestroyed', 'Get'), 'The object is destroyed.')
    assert.equal(
      told(version, 'Sensitive', 'Get'),
      'The object is Sensitive: it is returned only in wrapped form.',
    )
    assert.notEqual(told(version, 'WrongKeyLifecycleState', 'MAC'), 'DENIED')
    assert.equal(told(version, 'WrongKeyLifecycleState', 'Destroy'), 'DENIED')
    assert.equal(told(version, 'PermissionDenied', 'Encrypt'), 'DENIED')
    const precise = 'ACTIVATION_DATE:!PRE_ACTIVE'
    assert.equal(messageIn(version, precise, 'WrongKeyLifecycleState', 'ModifyAttribute'), 'DENIED')
  }
  for (const version of ['2.0', '2.1'] as const)
    assert.equal(told(version, 'ObjectDestroyed', 'Get'), 'DENIED')
})

test('An old client gets a reason of its version', () => {
  assert.equal(reasonIn('2.1', 'WrongKeyLifecycleState'), 'WrongKeyLifecycleState')
  // As the public test cases of each version have it (AKLC-M-2, CS-BC-M-14).
  for (const version of ['2.0', '1.4'] as const)
    assert.equal(reasonIn(version, 'WrongKeyLifecycleState'), 'PermissionDenied')
  assert.equal(reasonIn('2.0', 'ObjectDestroyed'), 'ObjectDestroyed')
  assert.equal(reasonIn('1.4', 'Sensitive'), 'Sensitive')
  assert.equal(reasonIn('1.3', 'Sensitive'), 'PermissionDenied')
  const last = { '1.0': 0x11, '1.1': 0x12, '1.2': 0x12, '1.3': 0x15, '1.4': 0x18 } as const
  for (const [version, number] of Object.entries(last))
    for (const reason of Object.keys(Enumeration.ResultReason) as ResultReason[]) {
      const told = Enumeration.ResultReason[reasonIn(version as '1.0', reason)]
      assert.ok(told <= number || told === 0x100, `${reason} in ${version}`)
    }
})

test('Attributes are found by tag and by the text of 1.x, and belong to versions', () => {
  const texts = attributes.flatMap(({ legacyName }) =>
    legacyName === undefined ? [] : [normaliseName(legacyName)],
  )
  assert.equal(texts.length, new Set(texts).size)
  for (const row of attributes) {
    assert.equal(findAttribute(row.tag), row)
    if (row.legacyName === undefined) assert.ok(atLeast(row.since, '2.0'), row.name)
    else assert.equal(attributeByLegacyName(row.legacyName), row)
  }
  const fresh = attributeByLegacyName('Fresh')
  assert.ok(fresh && attributeIn('1.1', fresh) && !attributeIn('1.0', fresh))
  const policy = attributeByLegacyName('Operation Policy Name')
  assert.ok(policy && attributeIn('1.4', policy) && !attributeIn('2.0', policy))
  assert.equal(attributeByLegacyName('x-Barcode'), undefined)
  assert.equal(findAttribute(Tag.NameValue), undefined)
})

test('Attributes that only the server sets cannot be changed or deleted', () => {
  for (const row of attributes) if (row.readOnly) assert.ok(!row.modifiable && !row.deletable, row.name)
  for (const name of ['State', 'UniqueIdentifier', 'Digest', 'RotateGeneration'] as const)
    assert.equal(findAttribute(Tag[name])?.readOnly, true, name)
})
