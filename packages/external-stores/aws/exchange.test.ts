import assert from 'node:assert/strict'
import { createDecipheriv } from 'node:crypto'
import { test } from 'node:test'
import { activeSince, aesAttributes, kmipClient, objectType } from '@warder/kmip-server/testing'
import { startKms } from '@warder/kms/testing'
import { integrityValue } from './encryption.ts'
import {
  awsRights,
  grantedKey,
  keyArn,
  principal,
  requestMetadata,
  sendSigned,
  startXks,
  type Xks,
} from './fixtures/xks.ts'

const aad = 'cHJvamVjdD1uaWxlLGRlcGFydG1lbnQ9bWFya2V0aW5n'
const plaintext = 'SGVsbG8gV29ybGQh'
const encryptBody = {
  requestMetadata: requestMetadata('Encrypt'),
  additionalAuthenticatedData: aad,
  plaintext,
  encryptionAlgorithm: 'AES_GCM',
  ciphertextDataIntegrityValueAlgorithm: 'SHA_256',
}
const decryptBody = (sealed: Record<string, string>, more: object = {}) => {
  const { ciphertextDataIntegrityValue: _, ...parts } = sealed
  return {
    requestMetadata: requestMetadata('Decrypt'),
    encryptionAlgorithm: 'AES_GCM',
    ...parts,
    ...more,
  }
}
const refused = async (xks: Xks, rest: string, body: unknown) => {
  const { status, json } = await xks.send(rest, body)
  assert.deepEqual(Object.keys(json).sort(), ['errorMessage', 'errorName'])
  assert.match(json.errorMessage, /^[\x20-\x7e]{1,511}$/)
  return [status, json.errorName]
}

test('the examples of the XKS Proxy API are answered as they are written there', async () => {
  await using xks = await startXks({ config: { 'aws_xks_config.aws_xks_fleet_size': 3 } })
  const health = await xks.send('health', {
    requestMetadata: {
      kmsRequestId: '4112f4d6-db54-4af4-ae30-c55a22a8dfae',
      kmsOperation: 'CreateCustomKeyStore',
    },
  })
  assert.equal(health.status, 200, health.text)
  const { xksProxyFleetSize, ekmFleetDetails, ...named } = health.json
  assert.equal(xksProxyFleetSize, 3)
  assert.deepEqual(Object.keys(named).sort(), ['ekmVendor', 'xksProxyModel', 'xksProxyVendor'])
  assert.deepEqual(
    ekmFleetDetails.map(({ healthStatus }: Record<string, string>) => healthStatus),
    ['ACTIVE'],
  )

  const metadata = await xks.send(`keys/${xks.kid}/metadata`, {
    requestMetadata: {
      awsPrincipalArn: principal,
      kmsOperation: 'CreateKey',
      kmsRequestId: '4112f4d6-db54-4af4-ae30-c55a22a8dfae',
    },
  })
  assert.deepEqual(
    [metadata.status, metadata.json.keySpec, metadata.json.keyStatus],
    [200, 'AES_256', 'ENABLED'],
  )
  assert.deepEqual(metadata.json.keyUsage.slice(0, 2), ['ENCRYPT', 'DECRYPT'])

  const { status, json: sealed } = await xks.send(`keys/${xks.kid}/encrypt`, encryptBody)
  assert.equal(status, 200)
  const decode = (member: string): Buffer => Buffer.from(sealed[member], 'base64')
  assert.equal(decode('ciphertext').length, 12)
  assert.equal(
    sealed.ciphertextDataIntegrityValue,
    integrityValue({
      aad: Buffer.from(aad, 'base64'),
      metadata: decode('ciphertextMetadata'),
      iv: decode('initializationVector'),
      ciphertext: decode('ciphertext'),
      tag: decode('authenticationTag'),
    }),
  )
  const opened = await xks.send(
    `keys/${xks.kid}/decrypt`,
    decryptBody(sealed, { additionalAuthenticatedData: aad }),
  )
  assert.deepEqual([opened.status, opened.json], [200, { plaintext }])
})

test('additional data and metadata are authenticated with their lengths, as the API writes them', async () => {
  await using xks = await startXks()
  const { json: sealed } = await xks.send(`keys/${xks.kid}/encrypt`, encryptBody)
  const key = await xks.kms.services.keys.get(xks.kid as never)
  const additional = Buffer.from(aad, 'base64')
  const metadata = Buffer.from(sealed.ciphertextMetadata, 'base64')
  const lengths = [Buffer.of(0, additional.length), additional, Buffer.of(metadata.length), metadata]
  const decipher = createDecipheriv(
    'aes-256-gcm',
    key?.held.local as never,
    Buffer.from(sealed.initializationVector, 'base64'),
  )
  decipher.setAAD(Buffer.concat(lengths)).setAuthTag(Buffer.from(sealed.authenticationTag, 'base64'))
  const opened = Buffer.concat([decipher.update(Buffer.from(sealed.ciphertext, 'base64')), decipher.final()])
  assert.equal(opened.toString(), 'Hello World!')
})

test('whatever of a ciphertext was changed, moved or left out does not open', async () => {
  await using xks = await startXks()
  const decrypt = `keys/${xks.kid}/decrypt`
  const withAad = (await xks.send(`keys/${xks.kid}/encrypt`, encryptBody)).json
  const { additionalAuthenticatedData: _, ...bare } = encryptBody
  const without = (await xks.send(`keys/${xks.kid}/encrypt`, bare)).json
  assert.equal((await xks.send(decrypt, decryptBody(without))).json.plaintext, plaintext)
  const flip = (text: string): string => {
    const bytes = Buffer.from(text, 'base64')
    bytes[0] = (bytes[0] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const good = { ...withAad, additionalAuthenticatedData: aad }
  const wrong: object[] = [
    ...[
      'ciphertext',
      'authenticationTag',
      'initializationVector',
      'additionalAuthenticatedData',
      'ciphertextMetadata',
    ].flatMap((member) => [
      { ...good, [member]: flip(good[member]) },
      { ...good, [member]: undefined },
      { ...good, [member]: 'not base64' },
      { ...good, [member]: '' },
    ]),
    { ...good, authenticationTag: good.authenticationTag.slice(0, 16) },
    { ...good, initializationVector: 'AAAA' },
    { ...good, ciphertextMetadata: Buffer.alloc(21).toString('base64') },
    // The metadata as additional data: without lengths it would open.
    { ...without, additionalAuthenticatedData: without.ciphertextMetadata, ciphertextMetadata: undefined },
    { ...without, ...{ ciphertext: withAad.ciphertext } },
  ]
  for (const parts of wrong)
    assert.deepEqual(
      await refused(xks, decrypt, decryptBody(parts as Record<string, string>)),
      [400, 'InvalidCiphertextException'],
      JSON.stringify(parts),
    )
  const other = await grantedKey(xks.kms, 'aws:*')
  assert.deepEqual(await refused(xks, `keys/${other}/decrypt`, decryptBody(good)), [
    400,
    'InvalidCiphertextException',
  ])
})

test('data up to the lengths of the API are taken, and those beyond our bounds are not supported', async () => {
  await using xks = await startXks()
  const path = `keys/${xks.kid}/encrypt`
  const large = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64')
  for (const [data, additional] of [
    [4300, 8192],
    [0, 0],
    [1, 8192],
  ] as const) {
    const body = { ...encryptBody, plaintext: large(data), additionalAuthenticatedData: large(additional) }
    const { status, json: sealed } = await xks.send(path, body)
    assert.equal(status, 200)
    const opened = await xks.send(
      `keys/${xks.kid}/decrypt`,
      decryptBody(sealed, { additionalAuthenticatedData: body.additionalAuthenticatedData }),
    )
    assert.equal(opened.json.plaintext, body.plaintext)
  }
  const arn = `arn:aws:iam::123456789012:user/${'a'.repeat(2016)}`
  const everybody = await grantedKey(xks.kms, 'aws:*')
  const long = { ...encryptBody, requestMetadata: { ...requestMetadata('Encrypt'), awsPrincipalArn: arn } }
  assert.equal((await xks.send(`keys/${everybody}/encrypt`, long)).status, 200)
  for (const body of [
    { ...encryptBody, plaintext: large(8193) },
    { ...encryptBody, additionalAuthenticatedData: large(8193) },
    { ...encryptBody, plaintext: large(64 * 1024) },
  ])
    assert.deepEqual(await refused(xks, path, body), [501, 'UnsupportedOperationException'])
})

test('an unknown operation of AWS KMS, and members that are not known yet, are no reason to refuse', async () => {
  await using xks = await startXks()
  for (const kmsOperation of ['BulkEncrypt', '', 'ünknown']) {
    const metadata = { ...requestMetadata(kmsOperation), kmsRequestId: 'opaque ü', kmsRecipient: { a: [1] } }
    const body = { ...encryptBody, requestMetadata: metadata, later: true }
    assert.equal((await xks.send(`keys/${xks.kid}/encrypt`, body)).status, 200, kmsOperation)
    const described = await xks.send(`keys/${xks.kid}/metadata`, { requestMetadata: metadata })
    assert.equal(described.status, 200)
    assert.equal((await xks.send('health', { requestMetadata: { ...metadata } })).status, 200)
  }
})

test('what is missing or malformed in a request is a ValidationException', async () => {
  await using xks = await startXks()
  const { plaintext: _, ...noPlaintext } = encryptBody
  const { kmsKeyArn: __, ...noArn } = requestMetadata('Encrypt')
  const bodies: unknown[] = [
    noPlaintext,
    { ...encryptBody, requestMetadata: {} },
    { ...encryptBody, requestMetadata: noArn },
    { ...encryptBody, requestMetadata: { ...requestMetadata('x'), awsPrincipalArn: '' } },
    { ...encryptBody, requestMetadata: { ...requestMetadata('x'), awsPrincipalArn: 'a'.repeat(2049) } },
    { ...encryptBody, plaintext: 'SGVsbG8' },
    { ...encryptBody, plaintext: 'SGVsbG8_' },
    { ...encryptBody, plaintext: 7 },
    { ...encryptBody, encryptionAlgorithm: 'AES_CBC' },
    { ...encryptBody, ciphertextDataIntegrityValueAlgorithm: 'MD5' },
    {},
    [],
    '{',
    '{"plaintext":"","plaintext":""}',
    '',
  ]
  for (const body of bodies)
    assert.deepEqual(
      await refused(xks, `keys/${xks.kid}/encrypt`, body),
      [400, 'ValidationException'],
      JSON.stringify(body),
    )
  assert.deepEqual(await refused(xks, `keys/${xks.kid}/metadata`, {}), [400, 'ValidationException'])
  assert.deepEqual(await refused(xks, 'health', { requestMetadata: {} }), [400, 'ValidationException'])
})

test('paths that lead nowhere are told as such, and other methods are 405', async () => {
  await using xks = await startXks()
  for (const rest of ['nothing', 'keys', `keys/${xks.kid}`, `keys/${xks.kid}/sign`, 'health/x'])
    assert.deepEqual(await refused(xks, rest, {}), [404, 'InvalidUriPathException'], rest)
  for (const rest of ['health', `keys/${xks.kid}/metadata`, `keys/${xks.kid}/encrypt`]) {
    const elsewhere = await sendSigned(xks.wire, `/aws/invalid/kms/xks/v1/${rest}`, {}, xks)
    assert.deepEqual([elsewhere.status, elsewhere.json.errorName], [404, 'InvalidUriPathException'], rest)
  }
  for (const rest of ['health', `keys/${xks.kid}/metadata`]) {
    const { status, headers } = await xks.wire.get(`/aws/kms/xks/v1/${rest}`)
    assert.deepEqual([status, headers.allow], [405, 'POST'])
  }
})

test('keys are used as they are granted to principals of AWS, and only so', async () => {
  await using xks = await startXks()
  const { kms } = xks
  const alice = kms.user('alice')
  const encrypt = async (kid: string, awsPrincipalArn = principal) => {
    const body = { ...encryptBody, requestMetadata: { ...requestMetadata('Encrypt'), awsPrincipalArn } }
    const { status, json } = await xks.send(`keys/${kid}/encrypt`, body)
    return json.errorName ?? status
  }
  const plain = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  assert.equal(await encrypt(plain), 'KeyNotFoundException')
  assert.equal(await encrypt('non_existing_key'), 'KeyNotFoundException')
  // A principal of AWS is no user of this service: neither the owner, nor everybody here.
  for (const name of ['alice', 'admin', '*', `aws:${principal}`])
    assert.equal(await encrypt(plain, name), 'KeyNotFoundException', name)
  const everybody = await grantedKey(kms, '*')
  assert.equal(await encrypt(everybody), 'KeyNotFoundException')
  const theirs = await grantedKey(kms, principal)
  assert.equal(await encrypt(theirs), 'KeyNotFoundException')

  assert.equal(await encrypt(xks.kid), 200)
  for (const name of ['arn:aws:iam::123456789012:user/Bob', `${principal} `, 'dynamodb.amazonaws.com'])
    assert.equal(await encrypt(xks.kid, name), 'AccessDeniedException', name)
  // IAM has no two users whose names differ in upper and lower case alone.
  assert.equal(await encrypt(xks.kid, 'arn:aws:iam::123456789012:user/alice'), 200)
  const service = await grantedKey(kms, 'aws:dynamodb.amazonaws.com')
  assert.equal(await encrypt(service, 'dynamodb.amazonaws.com'), 200)
  const internal = await grantedKey(kms, 'aws:AWS Internal')
  assert.equal(await encrypt(internal, 'AWS Internal'), 200)
  const all = await grantedKey(kms, 'aws:*')
  assert.equal(await encrypt(all, 'whoever'), 200)

  const onlyEncrypts = await grantedKey(kms, 'aws:*', ['encrypt'])
  const sealed = (await xks.send(`keys/${onlyEncrypts}/encrypt`, encryptBody)).json
  const opening = decryptBody(sealed, { additionalAuthenticatedData: aad })
  assert.deepEqual(await refused(xks, `keys/${onlyEncrypts}/decrypt`, opening), [
    403,
    'AccessDeniedException',
  ])
  const grant = { unique_identifier: onlyEncrypts, user_id: 'aws:*', operation_types: ['encrypt'] }
  assert.equal((await alice.post('/access/revoke', grant)).status, 200)
  assert.equal(await encrypt(onlyEncrypts), 'KeyNotFoundException')
  // No credential of this service gives such a name.
  assert.equal((await kms.user('aws:*').get('/me')).status, 401)
})

test('keys of other kinds and states are told as AWS expects', async () => {
  await using xks = await startXks()
  const { kms } = xks
  const send = async (kid: string, operation: string, body: unknown) => {
    const { status, json } = await xks.send(`keys/${kid}/${operation}`, body)
    return (
      json.errorName ??
      (operation === 'metadata'
        ? `${json.keySpec} ${json.keyStatus} ${json.keyUsage.includes('ENCRYPT')}`
        : status)
    )
  }
  const metadata = { requestMetadata: requestMetadata('DescribeKey') }
  const of = async (
    kid: string,
    sealed = {
      ciphertext: '',
      initializationVector: 'AAAAAAAAAAAAAAAA',
      authenticationTag: 'AAAAAAAAAAAAAAAAAAAAAA==',
    },
  ) => [
    await send(kid, 'metadata', metadata),
    await send(kid, 'encrypt', encryptBody),
    await send(kid, 'decrypt', decryptBody(sealed)),
  ]
  const usage = 'InvalidKeyUsageException'
  assert.deepEqual(await of(await grantedKey(kms, 'aws:*', undefined, 'A128GCM')), [
    'AES_128 ENABLED true',
    usage,
    usage,
  ])
  assert.deepEqual(await of(await grantedKey(kms, 'aws:*', undefined, 'HS256')), [
    'HMAC_256 ENABLED false',
    usage,
    usage,
  ])

  const { db } = kms.environment
  const state = async (kid: string, assignments: string) => {
    const { query, change } = await import('@warder/storage')
    await db.commit([
      change(query(`UPDATE managed_object SET ${assignments}, version = version + 1 WHERE id = ?`), [kid], 1),
    ])
  }
  const { json: sealed } = await xks.send(`keys/${xks.kid}/encrypt`, encryptBody)
  const good = { ...sealed, additionalAuthenticatedData: aad }
  assert.deepEqual(await of(xks.kid, good), ['AES_256 ENABLED true', 200, 200])
  const disabled = 'InvalidStateException'
  for (const name of ['PreActive', 'Deactivated', 'Compromised']) {
    await state(xks.kid, `state = '${name}', activation_at = NULL`)
    assert.deepEqual(await of(xks.kid, good), ['AES_256 DISABLED true', disabled, disabled], name)
  }
  await state(xks.kid, "state = 'Active', archived_at = 5")
  assert.deepEqual(await of(xks.kid, good), ['AES_256 DISABLED true', disabled, disabled])
  await state(xks.kid, 'archived_at = NULL, protect_stop_at = 5')
  assert.deepEqual(await of(xks.kid, good), ['AES_256 ENABLED true', disabled, 200])
  await state(xks.kid, 'protect_stop_at = NULL, usage_mask = 4')
  assert.deepEqual(await of(xks.kid, good), ['AES_256 ENABLED true', usage, usage], 'an integrity value')
  const { ciphertextDataIntegrityValueAlgorithm: _, ...unchecked } = encryptBody
  assert.equal(await send(xks.kid, 'encrypt', unchecked), 200)
  await state(xks.kid, "usage_mask = 12, state = 'Destroyed'")
  const gone = 'KeyNotFoundException'
  assert.deepEqual(await of(xks.kid, good), [gone, gone, gone])
  const deleted = await grantedKey(kms, 'aws:*')
  await kms.user('alice').del(`/v1/crypto/keys/${deleted}`)
  assert.deepEqual(await of(deleted, good), [gone, gone, gone])
})

test('a record has the request id, the principal and the key of AWS, and nothing secret', async () => {
  await using xks = await startXks()
  const { kms, credential } = xks
  await xks.send(`keys/${xks.kid}/encrypt`, encryptBody)
  const record = kms.audit.at(-1)
  assert.deepEqual(
    [
      record?.operation,
      record?.principal,
      record?.auth_method,
      record?.object,
      record?.algorithm,
      record?.outcome,
    ],
    ['aws.xks.encrypt', `aws:${principal}`, 'sigv4', xks.kid, 'AES_GCM', 'success'],
  )
  assert.deepEqual(record?.details, {
    access_key_id: credential.id,
    vendor_request_id: '4112f4d6-db54-4af4-ae30-c55a22a8dfae',
    kms_operation: 'Encrypt',
    kms_key_arn: keyArn,
    via_service: 'ebs',
  })
  await xks.send(`keys/non_existing_key/encrypt`, encryptBody)
  const failed = kms.audit.at(-1)
  assert.deepEqual(
    [failed?.status, failed?.reason, failed?.principal],
    [404, 'not_found', `aws:${principal}`],
  )
  const told = JSON.stringify([kms.audit, kms.log])
  for (const secret of [credential.secret, plaintext, 'Hello World!']) assert.ok(!told.includes(secret))
  const stored = await kms.storedBytes()
  assert.ok(!stored.includes(credential.secret))
  assert.ok(stored.includes(credential.id))
})

test('AES-GCM that the policy of the server does not permit is not used for AWS KMS either', async () => {
  await using xks = await startXks()
  const client = kmipClient(xks.kms.user('alice'))
  const attributes = aesAttributes(256, activeSince)
  const { id: ofKmip } = await client.do('Create', [objectType('SymmetricKey'), attributes])
  const granted = { unique_identifier: ofKmip, user_id: `aws:${principal}`, operation_types: awsRights }
  assert.equal((await xks.kms.user('alice').post('/access/grant', granted)).status, 200)
  const { db, seal } = xks.kms.environment
  const sealed = (await xks.send(`keys/${ofKmip}/encrypt`, encryptBody)).json
  await using strict = await startKms({
    db,
    seal,
    config: {
      'aws_xks_config.aws_xks_enable': true,
      'kmip.policy_id': 'CUSTOM',
      'kmip.allowlists.block_cipher_modes': ['CBC'],
    },
  })
  const send = async (rest: string, body: object) =>
    (await sendSigned(strict.with({}), `/aws/kms/xks/v1/${rest}`, body, { credential: xks.credential })).json
  for (const kid of [xks.kid, ofKmip]) {
    assert.equal((await send(`keys/${kid}/encrypt`, encryptBody)).errorName, 'InvalidKeyUsageException')
    const opening = decryptBody(sealed, { additionalAuthenticatedData: aad })
    assert.equal((await send(`keys/${kid}/decrypt`, opening)).errorName, 'InvalidKeyUsageException')
    const described = { requestMetadata: requestMetadata('DescribeKey') }
    const { keyUsage } = await send(`keys/${kid}/metadata`, described)
    assert.ok(!keyUsage.includes('ENCRYPT') && !keyUsage.includes('DECRYPT'), kid)
  }
  assert.notEqual(
    (await send('health', { requestMetadata: requestMetadata('KmsHealthCheck') })).errorName,
    undefined,
  )
})
