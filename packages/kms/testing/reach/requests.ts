import { randomBytes } from 'node:crypto'
import {
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  type OperationName,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import {
  AbeClient,
  activeSince,
  aesAttributes,
  aesKey,
  attributes,
  link,
  objectType,
  uid,
  vendorAttribute,
  wrappingSpecification,
} from '@warder/kmip-server/testing'
import { messages, type Played } from './oracle.ts'
import { everyUse, type Sealed, type Thing, type Token, type World } from './world.ts'

/** Draws from the seed of a run. */
export class Draw {
  #state: number
  constructor(seed: number) {
    this.#state = seed >>> 0
  }
  /** At least 0, below `bound`. */
  below(bound: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * bound)
  }
  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
  some<T>(list: readonly T[], chance = 0.5): T[] {
    return list.filter(() => this.chance(chance))
  }
  chance(of: number): boolean {
    return this.below(1000) < of * 1000
  }
}

/** A principal who plays, with what it draws. */
export interface Player {
  readonly world: World
  readonly draw: Draw
  readonly by: string
  /** A right that the operation asks for. */
  readonly right?: string | undefined
}

export interface Request {
  readonly operation: string
  readonly what: string
  run(): Promise<Omit<Played, 'what' | 'by'>>
}

const { BlockCipherMode: modes } = Enumeration
const cipherModes = ['GCM', 'CTR', 'OFB', 'CFB', 'CBC', 'ECB', 'NISTKeyWrap', 'GCM_SIV', 'CCM'] as const
const zeros = Buffer.alloc(32)

/** Byte strings and texts in nodes. */
export function bytesIn(nodes: readonly TtlvNode[]): Buffer[] {
  return nodes.flatMap((node) => {
    if (node.type === 'Structure') return bytesIn(node.value)
    return node.type === 'ByteString' ? [Buffer.from(node.value)] : []
  })
}
function textIn(nodes: readonly TtlvNode[]): string {
  return nodes
    .map((node) =>
      node.type === 'Structure' ? textIn(node.value) : node.type === 'TextString' ? node.value : '',
    )
    .join('\n')
}

const parameters = (...members: readonly TtlvNode[]) => structure(Tag.CryptographicParameters, members)
const inMode = (mode: keyof typeof modes, ...more: readonly TtlvNode[]) =>
  parameters(
    enumeration(Tag.BlockCipherMode, modes[mode]),
    ...(mode === 'CBC' ? [enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod.None)] : []),
    ...more,
  )
const data = (bytes: Uint8Array) => byteString(Tag.Data, bytes)
const sha256 = enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256)

/** The things that a request is about, most often one on which the caller has some right. */
function thingFor({ world, draw, by, right }: Player, likely: (thing: Thing) => boolean = () => true): Thing {
  const exact = world.things.filter((thing) => world.held(by, thing, right) && likely(thing))
  if (exact.length > 0 && draw.chance(0.7)) return draw.one(exact)
  const held = world.things.filter((thing) => world.held(by, thing) && likely(thing))
  if (held.length > 0 && draw.chance(0.5)) return draw.one(held)
  const fitting = world.things.filter(likely)
  return draw.one(draw.chance(0.9) && fitting.length > 0 ? fitting : world.things)
}
export function idFor(player: Player, likely?: (thing: Thing) => boolean): string {
  const thing = thingFor(player, likely)
  return player.draw.chance(0.8) ? thing.id : player.draw.one([...thing.ids])
}
export const isAes = ({ kind }: Thing) => kind === 'aes'
export const isSecret = ({ kind }: Thing) => kind === 'aes' || kind === 'hmac' || kind === 'data'
export const isPrivate = ({ kind }: Thing) => kind === 'rsa' || kind === 'ec'
export const isCertificate = ({ kind }: Thing) => kind === 'certificate'
function sealedFor({ world, draw }: Player, id: string): Sealed {
  const fitting = world.sealed.filter(({ thing }) => thing.ids.has(id))
  return draw.one(fitting.length > 0 ? fitting : world.sealed)
}
export function tokenFor(player: Player, fits: (token: Token) => boolean): Token {
  const { world, draw, by } = player
  const fitting = world.tokens.filter(fits)
  const held = fitting.filter(({ thing }) => world.held(by, thing, player.right))
  return draw.one(held.length > 0 && draw.chance(0.8) ? held : fitting)
}

/** The attribute that lists the tags of an object: often one by which rights are granted. */
const tagsAttribute = (draw: Draw, { tags }: World): TtlvNode =>
  vendorAttribute('cosmian', 'tag', textString(Tag.AttributeValue, JSON.stringify([draw.one(tags)])))

/** Attributes with which a key would be looser than it was. */
const loosening = ({ draw, world }: Player): TtlvNode[] =>
  draw.some(
    [
      boolean(Tag.Extractable, true),
      boolean(Tag.Sensitive, false),
      everyUse,
      dateTime(Tag.DeactivationDate, 4_000_000_000),
      textString(Tag.Comment, 'loosened'),
      tagsAttribute(draw, world),
    ],
    0.4,
  )
const attributeFor = ({ draw, world }: Player): TtlvNode =>
  draw.one([
    boolean(Tag.Extractable, true),
    boolean(Tag.Sensitive, false),
    everyUse,
    textString(Tag.Comment, 'other'),
    dateTime(Tag.DeactivationDate, 4_000_000_000),
    tagsAttribute(draw, world),
    interval(Tag.RotateInterval, 86_400),
    textString(Tag.ContactInformation, 'nobody'),
  ])
const extensionTexts = [
  'basicConstraints=critical,CA:TRUE',
  'keyUsage=critical,keyCertSign,cRLSign',
  'extendedKeyUsage=codeSigning',
  'extendedKeyUsage=OCSPSigning',
  'extendedKeyUsage=serverAuth',
]
const wishFor = (player: Player): TtlvNode[] => {
  const { world, draw } = player
  const lines = draw.chance(0.5) ? draw.some(extensionTexts, 0.4) : []
  return [
    ...(draw.chance(0.7)
      ? [link('CertificateLink', draw.chance(0.8) ? world.authority.id : idFor(player, isCertificate))]
      : []),
    ...(draw.chance(0.3)
      ? [link('PrivateKeyLink', draw.chance(0.5) ? world.authorityKey.id : idFor(player, isPrivate))]
      : []),
    ...(lines.length > 0
      ? [vendorAttribute('example', 'x509-extension', textString(Tag.AttributeValue, lines.join('\n')))]
      : []),
  ]
}
const reason = (player: Player) =>
  structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, player.draw.one([0x5, 0x5, 0x6, 0x1, 0x80000001, 0x80000002])),
  ])

function cipherRequest(player: Player): Made {
  const { draw } = player
  const id = idFor(player, isAes)
  const target = sealedFor(player, id)
  const mode = draw.chance(0.6) ? target.mode : draw.one(cipherModes)
  const sent = draw.one([target.ciphertext, target.ciphertext, zeros, target.iv, Buffer.alloc(16)])
  const given = draw.chance(0.7) ? target.iv : draw.one([undefined, zeros.subarray(16), zeros.subarray(20)])
  const more = draw.one([[], [], [], [integer(Tag.IVLength, 8)], [integer(Tag.CounterLength, 120)]])
  return {
    sent: [sent],
    members: [
      uid(id),
      inMode(mode, ...more),
      data(sent),
      given?.length ? byteString(Tag.IVCounterNonce, given) : undefined,
    ],
  }
}

interface Made {
  readonly sent?: readonly Uint8Array[]
  readonly members: readonly (TtlvNode | undefined)[]
}

/** A hostile or an ordinary payload of every operation of KMIP; undefined: the operation reaches no object of others. */
export const payloads: Readonly<Record<string, ((player: Player) => Made) | undefined>> = {
  Encrypt: cipherRequest,
  Decrypt(player) {
    const { draw } = player
    const abe = player.world.tokens.find(({ abe: sealed }) => sealed !== undefined)?.abe
    if (abe && draw.chance(0.15))
      return { members: [uid(idFor(player, ({ kind }) => kind === 'abe')), data(abe)] }
    const jwe = tokenFor(player, ({ jwe: token }) => token !== undefined)
    if (draw.chance(0.15))
      return {
        members: [
          uid(idFor(player, ({ kind }) => kind === 'rsa')),
          parameters(
            enumeration(
              Tag.PaddingMethod,
              draw.one([Enumeration.PaddingMethod.None, Enumeration.PaddingMethod.OAEP]),
            ),
            sha256,
          ),
          data(Buffer.from(jwe.jwe?.encrypted_key ?? '', 'base64url')),
        ],
      }
    return cipherRequest(player)
  },
  Sign(player) {
    const message = player.draw.one(messages)
    return { sent: [message], members: [uid(idFor(player, isPrivate)), data(message)] }
  },
  SignatureVerify: (player) => ({
    members: [uid(idFor(player)), data(zeros), byteString(Tag.SignatureData, Buffer.alloc(64))],
  }),
  MAC(player) {
    const message = player.draw.one(messages)
    return {
      members: [
        uid(idFor(player, isSecret)),
        player.draw.one([undefined, parameters(sha256)]),
        data(message),
      ],
    }
  },
  MACVerify: (player) => ({
    members: [uid(idFor(player, isSecret)), data(zeros), byteString(Tag.MACData, zeros)],
  }),
  Get: getRequest,
  Export: getRequest,
  GetAttributes: (player) => ({ members: [uid(idFor(player))] }),
  GetAttributeList: (player) => ({ members: [uid(idFor(player))] }),
  AddAttribute: (player) => ({
    members: [uid(idFor(player)), structure(Tag.NewAttribute, [attributeFor(player)])],
  }),
  SetAttribute: (player) => ({
    members: [uid(idFor(player)), structure(Tag.NewAttribute, [attributeFor(player)])],
  }),
  ModifyAttribute: (player) => ({
    members: [uid(idFor(player)), structure(Tag.NewAttribute, [attributeFor(player)])],
  }),
  DeleteAttribute: (player) => ({
    members: [
      uid(idFor(player)),
      enumeration(Tag.AttributeReference, player.draw.one([Tag.Comment, Tag.Name, Tag.Link])),
    ],
  }),
  AdjustAttribute: (player) => ({
    members: [
      uid(idFor(player)),
      enumeration(Tag.AttributeReference, Tag.Sensitive),
      enumeration(Tag.AdjustmentType, Enumeration.AdjustmentType.Negate),
    ],
  }),
  Activate: (player) => ({ members: [uid(idFor(player, ({ name }) => name === 'dormant'))] }),
  Revoke: (player) => ({ members: [uid(idFor(player)), reason(player)] }),
  Destroy: (player) => ({
    members: [uid(player.draw.chance(0.3) ? player.world.find('ended').id : idFor(player))],
  }),
  Archive: (player) => ({ members: [uid(idFor(player))] }),
  Recover: (player) => ({ members: [uid(idFor(player))] }),
  Check: (player) => ({ members: [uid(idFor(player))] }),
  ObtainLease: (player) => ({ members: [uid(idFor(player))] }),
  GetUsageAllocation: (player) => ({
    members: [uid(idFor(player, isAes)), { tag: Tag.UsageLimitsCount, type: 'LongInteger', value: 1n }],
  }),
  ReKey(player) {
    const wanted = loosening(player)
    return {
      members: [
        uid(idFor(player, isAes)),
        player.draw.chance(0.2) ? interval(Tag.Offset, 0) : undefined,
        wanted.length > 0 ? attributes(...wanted) : undefined,
      ],
    }
  },
  ReKeyKeyPair(player) {
    const wanted = loosening(player)
    const id = idFor(player, ({ kind }) => kind === 'ec' || kind === 'rsa' || kind === 'abe')
    if (player.draw.chance(0.3)) {
      const action = player.draw.one([
        { RekeyAccessPolicy: 'Team::Blue' },
        { PruneAccessPolicy: 'Team::Blue' },
      ])
      return { members: new AbeClient(player.world.kmip(player.by)).rotation(id, action) }
    }
    return {
      members: [
        textString(Tag.PrivateKeyUniqueIdentifier, id),
        wanted.length > 0 ? structure(Tag.PrivateKeyAttributes, wanted) : undefined,
      ],
    }
  },
  DeriveKey(player) {
    const { draw } = player
    const id = idFor(player, isSecret)
    const target = sealedFor(player, id)
    const method = draw.one(['ENCRYPT', 'HMAC', 'PBKDF2', 'HASH', 'NIST800_108F', 'AsymmetricKey'] as const)
    const chosen =
      method === 'ENCRYPT' ? inMode(draw.one(['ECB', 'CBC', 'CTR'] as const)) : parameters(sha256)
    return {
      sent: [target.ciphertext],
      members: [
        objectType('SymmetricKey'),
        uid(id),
        draw.chance(0.2) ? uid(idFor(player, isSecret)) : undefined,
        enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod[method]),
        structure(Tag.DerivationParameters, [
          chosen,
          draw.one([
            byteString(
              Tag.InitializationVector,
              target.iv.length === 16 ? target.iv : (messages[0] as Buffer),
            ),
            undefined,
          ]),
          byteString(Tag.DerivationData, draw.one([target.ciphertext, ...messages, Buffer.alloc(0)])),
          byteString(Tag.Salt, draw.one(messages)),
          integer(Tag.IterationCount, 1),
        ]),
        aesAttributes(256, activeSince, boolean(Tag.Extractable, true)),
      ],
    }
  },
  CreateSplitKey: (player) => ({
    members: [
      objectType('SymmetricKey'),
      uid(idFor(player, isSecret)),
      integer(Tag.SplitKeyParts, 2),
      integer(Tag.SplitKeyThreshold, 2),
      enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    ],
  }),
  JoinSplitKey: (player) => ({
    members: [objectType('SymmetricKey'), uid(idFor(player)), uid(idFor(player))],
  }),
  Certify: (player) => ({
    members: [
      player.draw.chance(0.3) ? uid(idFor(player)) : undefined,
      byteString(Tag.CertificateRequestValue, Buffer.from(player.world.csr)),
      attributes(...wishFor(player)),
    ],
  }),
  ReCertify(player) {
    const wishes = wishFor(player)
    const id = idFor(player, ({ name }) => name.startsWith('certificate of'))
    return {
      members: [
        uid(id),
        player.draw.chance(0.4)
          ? byteString(Tag.CertificateRequestValue, Buffer.from(player.world.csr))
          : undefined,
        wishes.length > 0 && player.draw.chance(0.7) ? attributes(...wishes) : undefined,
      ],
    }
  },
  Validate: (player) => ({ members: [uid(idFor(player, isCertificate))] }),
  Locate: (player) => ({
    members: [
      attributes(
        ...player.draw.some([
          objectType(player.draw.one(['SymmetricKey', 'PrivateKey', 'Certificate'] as const)),
          link('CertificateLink', player.world.authority.id),
          textString(Tag.Comment, thingFor(player).canaries[0] ?? ''),
        ]),
      ),
    ],
  }),
  Create: (player) => ({
    members: player.draw.chance(0.5)
      ? new AbeClient(player.world.kmip(player.by)).wish(
          idFor(player, ({ kind }) => kind === 'abe'),
          'Team::Blue && Clearance::Secret',
        )
      : [objectType('SymmetricKey'), aesAttributes(256, textString(Tag.UniqueIdentifier, takenId(player)))],
  }),
  CreateKeyPair: (player) => ({
    members: [
      structure(
        Tag.CommonAttributes,
        [
          enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
          enumeration(Tag.CryptographicUsageMask, 1),
          textString(Tag.UniqueIdentifier, takenId(player)),
        ].slice(0, player.draw.one([1, 3])),
      ),
    ],
  }),
  Register(player) {
    const { draw } = player
    if (draw.chance(0.4))
      return {
        members: [
          objectType('SymmetricKey'),
          attributes(everyUse, activeSince, textString(Tag.UniqueIdentifier, takenId(player))),
          aesKey(randomBytes(32)),
        ],
      }
    return { members: [objectType('SymmetricKey'), attributes(everyUse, activeSince), wrapped(player)] }
  },
  Import: (player) => ({
    members: [
      uid(player.draw.chance(0.2) ? `own-${randomBytes(8).toString('hex')}` : takenId(player)),
      objectType('SymmetricKey'),
      player.draw.chance(0.6) ? boolean(Tag.ReplaceExisting, true) : undefined,
      player.draw.chance(0.2) ? enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped) : undefined,
      attributes(everyUse, activeSince),
      player.draw.chance(0.3) ? wrapped(player) : aesKey(randomBytes(32)),
    ],
  }),
  SetDefaults: undefined,
  SetConstraints: undefined,
  GetConstraints: undefined,
  Hash: undefined,
  RNGRetrieve: undefined,
  RNGSeed: undefined,
  Poll: undefined,
  Cancel: undefined,
  Process: undefined,
  QueryAsynchronousRequests: undefined,
  Ping: undefined,
  Log: undefined,
  Interop: undefined,
  PKCS_11: undefined,
  DiscoverVersions: undefined,
  Query: undefined,
}

/** An identifier that is, or was, that of an object of an owner. */
const takenId = (player: Player): string =>
  player.draw.chance(0.6) ? player.draw.one([...player.world.removed]) : idFor(player)

/** A ciphertext of an owner, as a key that its key wrapped. */
function wrapped(player: Player): TtlvNode {
  const id = idFor(player, isAes)
  const { mode, iv, ciphertext } = sealedFor(player, id)
  const sealed = player.draw.one([ciphertext, zeros])
  return structure(Tag.SymmetricKey, [
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
      byteString(Tag.KeyValue, sealed),
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      integer(Tag.CryptographicLength, sealed.length * 8),
      structure(Tag.KeyWrappingData, [
        enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
        structure(Tag.EncryptionKeyInformation, [uid(id), inMode(mode)]),
        iv.length > 0 ? byteString(Tag.IVCounterNonce, iv) : undefined,
        enumeration(Tag.EncodingOption, Enumeration.EncodingOption.NoEncoding),
      ]),
    ]),
  ])
}

function getRequest(player: Player): Made {
  const { draw } = player
  const wrap = draw.chance(0.35)
    ? wrappingSpecification(
        idFor(player, isAes),
        draw.one(cipherModes),
        draw.one([undefined, 'NoEncoding'] as const),
      )
    : undefined
  const clear = draw.chance(0.2)
    ? enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
    : undefined
  return { members: [uid(idFor(player)), clear, wrap] }
}

/** A request over KMIP, in one of its encodings; the objects that it makes are read, too. */
export function kmipRequest(
  anyone: Player,
  { name: operation, right }: { readonly name: OperationName; readonly right: string | undefined },
): Request {
  const player: Player = { ...anyone, right }
  const { world, draw, by } = player
  const make = payloads[operation]
  const { sent = [], members } = make?.(player) ?? { members: [] }
  const form = draw.below(3)
  const isBatch = draw.chance(0.1)
  return {
    operation,
    what: operation,
    async run() {
      const client = world.kmip(by, form)
      const payload = members.filter((node) => node !== undefined)
      const asks = isBatch
        ? [
            { operation, payload },
            { operation: 'Get' as const, payload: [] },
          ]
        : [{ operation, payload }]
      const { items } = await client.send(asks)
      const nodes = items.flatMap((item) => item.payload ?? [])
      const made = new Set(
        nodes.flatMap(({ value }) =>
          typeof value === 'string' && !world.things.some(({ ids }) => ids.has(value)) ? [value] : [],
        ),
      )
      const texts = items.map(({ message = '' }) => message)
      if (
        ['DeriveKey', 'Register', 'Import', 'CreateSplitKey', 'JoinSplitKey', 'Certify'].includes(operation)
      )
        for (const id of made) nodes.push(...((await client.ask('Get', [uid(id)])).payload ?? []))
      return {
        sent,
        signed: [...sent, ...messages],
        sentText: textIn(payload),
        got: bytesIn(nodes),
        gotText: [textIn(nodes), ...texts].join('\n'),
        succeeded: items[0]?.status === 'Success',
      }
    },
  }
}
