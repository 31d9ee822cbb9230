import { createCipheriv, createHmac } from 'node:crypto'
import { messages } from './requests.ts'
import type { Thing, World } from './world.ts'

/** Effects that the rights of a principal have on a thing. */
export type Effects = (thing: Thing) => ReadonlySet<string>

export interface Secret {
  readonly what: string
  /** Whether a principal with these effects on things may learn it. */
  readonly may: (effects: Effects) => boolean
}

function encryptBlock(key: Uint8Array, input: Uint8Array): Buffer {
  return createCipheriv(`aes-${key.length * 8}-ecb`, key, null)
    .setAutoPadding(false)
    .update(input)
}

function toCounterBlock(iv: Buffer, number: number): Buffer {
  return Buffer.concat([iv, Buffer.from([0, 0, 0, number])])
}

/** The secrets of the owners, by each of their parts of 16 bytes in hexadecimal. */
export function listSecrets({ things, sealed, tokens }: World): ReadonlyMap<string, Secret> {
  const secrets = new Map<string, Secret>()
  const add = (what: string, bytes: Uint8Array, may: Secret['may']): void => {
    for (let at = 0; at + 16 <= bytes.length; at += 16)
      secrets.set(Buffer.from(bytes.subarray(at, at + 16)).toString('hex'), { what, may })
  }
  for (const thing of things) {
    const has =
      (effect: string): Secret['may'] =>
      (effects) =>
        effects(thing).has(effect) || effects(thing).has('reveal material')
    for (const secret of thing.secrets) {
      add(`material of ${thing.name}`, secret, has('reveal material'))
      if (thing.kind !== 'aes' && thing.kind !== 'hmac') continue
      for (const message of messages)
        for (const hash of ['sha256', 'sha512'])
          add(`a MAC of ${thing.name}`, createHmac(hash, secret).update(message).digest(), has('make mac'))
      if (thing.kind !== 'aes') continue
      const both: Secret['may'] = (effects) =>
        effects(thing).has('reveal material') ||
        (effects(thing).has('make ciphertext') && effects(thing).has('reveal plaintext'))
      const ivs = sealed
        .filter((one) => one.thing === thing)
        .flatMap(({ mode, iv }) =>
          mode === 'GCM'
            ? [1, 2, 3].map((number) => toCounterBlock(iv, number))
            : iv.length === 16
              ? [iv]
              : [],
        )
      for (const input of [Buffer.alloc(16), ...ivs])
        add(`an output of the cipher of ${thing.name}`, encryptBlock(secret, input), both)
    }
  }
  for (const { thing, plaintext, mode } of sealed)
    add(`plaintext of ${thing.name} in ${mode}`, plaintext, (effects) =>
      ['reveal plaintext', 'reveal material'].some((effect) => effects(thing).has(effect)),
    )
  for (const { thing, plaintext } of tokens) {
    const related = things.filter(({ family }) => family === thing.family)
    const ways = ['reveal plaintext', 'reveal material', ...(thing.kind === 'abe' ? ['make derivation'] : [])]
    add(`plaintext of ${thing.name}`, plaintext, (effects) =>
      related.some((one) => ways.some((effect) => effects(one).has(effect))),
    )
  }
  return secrets
}
