import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { byteString, Tag } from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { AbeClient, aad, bulk, parent, vendor } from '../../testing/abe.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { uid } from '../../testing/nodes.ts'

/** Exchanged keys and texts, and public requests: `$WARDER_VECTORS/covercrypt`, by default beside the checkout. */
const beside = fileURLToPath(new URL('../../../../../shared/vectors', import.meta.url))
const folder = join(process.env.WARDER_VECTORS ?? beside, 'covercrypt')
const skip = existsSync(folder) ? false : 'the vectors of Covercrypt are not here (WARDER_VECTORS)'
const vectors = <File>(name: string): File => JSON.parse(readFileSync(join(folder, name), 'utf8')) as File
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

const kms = await startSharedKms()
const alice = new AbeClient(kmipClient(kms.user('alice')))

interface Node {
  readonly tag: string
  readonly value: unknown
}

async function post(
  request: object,
  replaced: Readonly<Record<string, string>> = {},
): Promise<readonly Node[]> {
  const text = Object.entries(replaced).reduce(
    (all, [name, value]) => all.replaceAll(`{{${name}}}`, value),
    JSON.stringify(request),
  )
  const { status, json, text: told } = await kms.user('alice').post('/kmip/2_1', JSON.parse(text))
  assert.equal(status, 200, told)
  return json.value
}

const textIn = (nodes: readonly Node[], tag: string) =>
  nodes.find((node) => node.tag === tag)?.value as string

test('the public requests of the deployed product get the same responses', { skip }, async () => {
  interface Public {
    readonly kat_decrypt: {
      readonly import_request: object
      readonly decrypt_request: object
      readonly decrypt_response_data: string
    }
    readonly rekey_keypair: {
      readonly create_key_pair_request: object
      readonly rekey_key_pair_request: object
    }
  }
  const { kat_decrypt, rekey_keypair } = vectors<Public>('public.json')
  const usk_id = textIn(await post(kat_decrypt.import_request), 'UniqueIdentifier')
  const opened = await post(kat_decrypt.decrypt_request, { usk_id })
  assert.equal(textIn(opened, 'Data').toUpperCase(), kat_decrypt.decrypt_response_data)
  const pair = await post(rekey_keypair.create_key_pair_request)
  const private_key_id = textIn(pair, 'PrivateKeyUniqueIdentifier')
  const rekeyed = await post(rekey_keypair.rekey_key_pair_request, { private_key_id })
  for (const tag of ['PrivateKeyUniqueIdentifier', 'PublicKeyUniqueIdentifier'])
    assert.equal(textIn(rekeyed, tag), textIn(pair, tag))
})

test('keys of the deployed product are imported, decrypt its ciphertexts, and can be rotated', {
  skip,
}, async () => {
  interface Lifecycle {
    readonly msk: string
    readonly mpk: string
    readonly usks: readonly { name: string; policy: string; usk: string }[]
    readonly kms: readonly {
      kind: string
      aad: string | null
      policy: string
      encrypt_request_data: string
      encrypt_response_data: string
      decrypt_response_data: string
      opened_by: Readonly<Record<string, boolean>>
    }[]
  }
  const life = vectors<Lifecycle>('lifecycle.json')
  const publicKey = (await alice.kmip.do('Import', alice.importing('PublicKey', bytes(life.mpk)))).id
  const link = { ...parent(publicKey) }
  const pairLink = JSON.parse(JSON.stringify(link)) as typeof link
  ;(pairLink.value[0] as { value: number }).value = 0x102
  const master = (await alice.kmip.do('Import', alice.importing('PrivateKey', bytes(life.msk), pairLink))).id
  const users = new Map<string, string>()
  for (const { name, policy, usk } of life.usks) {
    const more = [vendor('cover_crypt_access_policy', policy), parent(master)]
    users.set(name, (await alice.kmip.do('Import', alice.importing('PrivateKey', bytes(usk), ...more))).id)
  }
  const texts = life.kms.map((one) => {
    const more = [
      ...(one.aad ? [aad(bytes(one.aad).toString())] : []),
      ...(one.kind === 'single' ? [] : [bulk]),
    ]
    return { ...one, more, plain: bytes(one.decrypt_response_data).toString() }
  })
  const check = async (data: (one: (typeof texts)[number]) => Promise<Buffer> | Buffer) => {
    for (const one of texts) {
      const sealed = await data(one)
      for (const [name, id] of users)
        assert.equal(
          await alice.decrypt(id, sealed, ...one.more),
          one.opened_by[name] ? one.plain : undefined,
        )
    }
  }
  const encrypt = async (one: (typeof texts)[number]): Promise<Buffer> => {
    const request = [uid(publicKey), byteString(Tag.Data, bytes(one.encrypt_request_data)), ...one.more]
    return Buffer.from((await alice.kmip.do('Encrypt', request)).get(Tag.Data) as Uint8Array)
  }
  const theirs = (one: (typeof texts)[number]): Buffer => bytes(one.encrypt_response_data)
  await check(theirs)
  await check(encrypt)
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  await check(theirs)
  await check(encrypt)
})

test('bytes with excessive counts crash neither the thread nor the service', async () => {
  const wild = bytes('ffffffffffffff0f')
  const { publicKey, master } = await alice.pair({ Team: ['Blue'] })
  const user = await alice.user(master, 'Team::Blue')
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'still there')
  for (const type of ['PrivateKey', 'PublicKey'] as const)
    for (const key of [wild, Buffer.concat([Buffer.alloc(32, 1), wild, Buffer.alloc(64)])])
      await alice.kmip.fails('Import', alice.importing(type, key), 'InvalidField')
  for (const data of [
    wild,
    Buffer.concat([Buffer.from([0]), Buffer.alloc(16), wild]),
    Buffer.from('8787', 'hex'),
  ]) {
    const reply = await alice.kmip.ask('Decrypt', [uid(user), byteString(Tag.Data, data)])
    assert.equal(reply.status, 'OperationFailed')
    const several = [uid(user), byteString(Tag.Data, data), bulk]
    assert.equal((await alice.kmip.ask('Decrypt', several)).status, 'OperationFailed')
    assert.equal(
      (await alice.kmip.ask('Encrypt', [uid(publicKey), byteString(Tag.Data, data)])).status,
      'OperationFailed',
    )
  }
  assert.equal(await alice.decrypt(user, sealed), 'still there')
})
