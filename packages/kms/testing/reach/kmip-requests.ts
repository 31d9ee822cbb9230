import { randomBytes } from 'node:crypto'
import {
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  isDraftValue,
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
import {
  type Draw,
  drawId,
  drawSealed,
  drawTakenId,
  drawThing,
  drawToken,
  isAes,
  isCertificate,
  isPrivate,
  isSecret,
  messages,
  type Player,
  type Request,
} from './requests.ts'
import { everyUse, forms, type World } from './world.ts'

const { BlockCipherMode: modes } = Enumeration
const cipherModes = ['GCM', 'CTR', 'OFB', 'CFB', 'CBC', 'ECB', 'NISTKeyWrap', 'GCM_SIV', 'CCM'] as const
const zeros = Buffer.alloc(32)

function collectBytes(nodes: readonly TtlvNode[]): Buffer[] {
  return nodes.flatMap((node) => {
    if (node.type === 'Structure') return collectBytes(node.value)
    return node.type === 'ByteString' ? [Buffer.from(node.value)] : []
  })
}

function collectText(nodes: readonly TtlvNode[]): string {
  return nodes
    .map((node) =>
      node.type === 'Structure' ? collectText(node.value) : node.type === 'TextString' ? node.value : '',
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

/** The attribute that lists the tags of an object: often one by which rights are granted. */
const drawTags = (draw: Draw, { tags }: World): TtlvNode =>
  vendorAttribute('cosmian', 'tag', textString(Tag.AttributeValue, JSON.stringify([draw.one(tags)])))

/** Attributes with which a key would be looser than it was. */
const drawLooseAttributes = ({ draw, world }: Player): TtlvNode[] =>
  draw.some(
    [
      boolean(Tag.Extractable, true),
      boolean(Tag.Sensitive, false),
      everyUse,
      dateTime(Tag.DeactivationDate, 4_000_000_000),
      textString(Tag.Comment, 'loosened'),
      drawTags(draw, world),
    ],
    0.4,
  )
const drawAttribute = ({ draw, world }: Player): TtlvNode =>
  draw.one([
    boolean(Tag.Extractable, true),
    boolean(Tag.Sensitive, false),
    everyUse,
    textString(Tag.Comment, 'other'),
    dateTime(Tag.DeactivationDate, 4_000_000_000),
    drawTags(draw, world),
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
const drawCertificateTemplate = (player: Player): TtlvNode[] => {
  const { world, draw } = player
  const lines = draw.chance(0.5) ? draw.some(extensionTexts, 0.4) : []
  return [
    ...(draw.chance(0.7)
      ? [link('CertificateLink', draw.chance(0.8) ? world.authority.id : drawId(player, isCertificate))]
      : []),
    ...(draw.chance(0.3)
      ? [link('PrivateKeyLink', draw.chance(0.5) ? world.authorityKey.id : drawId(player, isPrivate))]
      : []),
    ...(lines.length > 0
      ? [vendorAttribute('example', 'x509-extension', textString(Tag.AttributeValue, lines.join('\n')))]
      : []),
  ]
}
const drawReason = (player: Player) =>
  structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, player.draw.one([0x5, 0x5, 0x6, 0x1, 0x80000001, 0x80000002])),
  ])

function cipherRequest(player: Player): Payload {
  const { draw } = player
  const id = drawId(player, isAes)
  const target = drawSealed(player, id)
  const mode = draw.chance(0.6) ? target.mode : draw.one(cipherModes)
  const sent = draw.one([target.ciphertext, target.ciphertext, zeros, target.iv, Buffer.alloc(16)])
  const iv = draw.chance(0.7) ? target.iv : draw.one([undefined, zeros.subarray(16), zeros.subarray(20)])
  const more = draw.one([[], [], [], [integer(Tag.IVLength, 8)], [integer(Tag.CounterLength, 120)]])
  return {
    sent: [sent],
    members: [
      uid(id),
      inMode(mode, ...more),
      data(sent),
      iv?.length ? byteString(Tag.IVCounterNonce, iv) : undefined,
    ],
  }
}

/** Members of a payload; `sent` as in `Exchange`. */
interface Payload {
  readonly sent?: readonly Uint8Array[]
  readonly members: readonly (TtlvNode | undefined)[]
}

/** A hostile or an ordinary payload of every operation of KMIP; undefined: the operation reaches no object of others. */
export const payloads: Readonly<Record<string, ((player: Player) => Payload) | undefined>> = {
  Encrypt: cipherRequest,
  Decrypt(player) {
    const { draw } = player
    const abe = player.world.tokens.find(({ abe: sealed }) => sealed !== undefined)?.abe
    if (abe && draw.chance(0.15))
      return { members: [uid(drawId(player, ({ kind }) => kind === 'abe')), data(abe)] }
    const jwe = drawToken(player, ({ jwe: token }) => token !== undefined)
    if (draw.chance(0.15))
      return {
        members: [
          uid(drawId(player, ({ kind }) => kind === 'rsa')),
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
    return { sent: [message], members: [uid(drawId(player, isPrivate)), data(message)] }
  },
  SignatureVerify: (player) => ({
    members: [uid(drawId(player)), data(zeros), byteString(Tag.SignatureData, Buffer.alloc(64))],
  }),
  MAC(player) {
    const message = player.draw.one(messages)
    return {
      members: [
        uid(drawId(player, isSecret)),
        player.draw.one([undefined, parameters(sha256)]),
        data(message),
      ],
    }
  },
  MACVerify: (player) => ({
    members: [uid(drawId(player, isSecret)), data(zeros), byteString(Tag.MACData, zeros)],
  }),
  Get: getRequest,
  Export: getRequest,
  GetAttributes: (player) => ({ members: [uid(drawId(player))] }),
  GetAttributeList: (player) => ({ members: [uid(drawId(player))] }),
  AddAttribute: (player) => ({
    members: [uid(drawId(player)), structure(Tag.NewAttribute, [drawAttribute(player)])],
  }),
  SetAttribute: (player) => ({
    members: [uid(drawId(player)), structure(Tag.NewAttribute, [drawAttribute(player)])],
  }),
  ModifyAttribute: (player) => ({
    members: [uid(drawId(player)), structure(Tag.NewAttribute, [drawAttribute(player)])],
  }),
  DeleteAttribute: (player) => ({
    members: [
      uid(drawId(player)),
      enumeration(Tag.AttributeReference, player.draw.one([Tag.Comment, Tag.Name, Tag.Link])),
    ],
  }),
  AdjustAttribute: (player) => ({
    members: [
      uid(drawId(player)),
      enumeration(Tag.AttributeReference, Tag.Sensitive),
      enumeration(Tag.AdjustmentType, Enumeration.AdjustmentType.Negate),
    ],
  }),
  Activate: (player) => ({ members: [uid(drawId(player, ({ name }) => name === 'dormant'))] }),
  Revoke: (player) => ({ members: [uid(drawId(player)), drawReason(player)] }),
  Destroy: (player) => ({
    members: [uid(player.draw.chance(0.3) ? player.world.find('ended').id : drawId(player))],
  }),
  Deactivate: (player) => ({ members: [uid(drawId(player))] }),
  Obliterate: (player) => ({
    members: [uid(player.draw.chance(0.3) ? player.world.find('ended').id : drawId(player))],
  }),
  CreateGroup: undefined,
  Archive: (player) => ({ members: [uid(drawId(player))] }),
  Recover: (player) => ({ members: [uid(drawId(player))] }),
  Check: (player) => ({ members: [uid(drawId(player))] }),
  ObtainLease: (player) => ({ members: [uid(drawId(player))] }),
  GetUsageAllocation: (player) => ({
    members: [uid(drawId(player, isAes)), { tag: Tag.UsageLimitsCount, type: 'LongInteger', value: 1n }],
  }),
  ReKey(player) {
    const loose = drawLooseAttributes(player)
    return {
      members: [
        uid(drawId(player, isAes)),
        player.draw.chance(0.2) ? interval(Tag.Offset, 0) : undefined,
        loose.length > 0 ? attributes(...loose) : undefined,
      ],
    }
  },
  ReKeyKeyPair(player) {
    const loose = drawLooseAttributes(player)
    const id = drawId(player, ({ kind }) => kind === 'ec' || kind === 'rsa' || kind === 'abe')
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
        loose.length > 0 ? structure(Tag.PrivateKeyAttributes, loose) : undefined,
      ],
    }
  },
  DeriveKey(player) {
    const { draw } = player
    const id = drawId(player, isSecret)
    const target = drawSealed(player, id)
    const method = draw.one(['ENCRYPT', 'HMAC', 'PBKDF2', 'HASH', 'NIST800_108F', 'AsymmetricKey'] as const)
    const chosen =
      method === 'ENCRYPT' ? inMode(draw.one(['ECB', 'CBC', 'CTR'] as const)) : parameters(sha256)
    return {
      sent: [target.ciphertext],
      members: [
        objectType('SymmetricKey'),
        uid(id),
        draw.chance(0.2) ? uid(drawId(player, isSecret)) : undefined,
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
      uid(drawId(player, isSecret)),
      integer(Tag.SplitKeyParts, 2),
      integer(Tag.SplitKeyThreshold, 2),
      enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    ],
  }),
  JoinSplitKey: (player) => ({
    members: [objectType('SymmetricKey'), uid(drawId(player)), uid(drawId(player))],
  }),
  Certify: (player) => ({
    members: [
      player.draw.chance(0.3) ? uid(drawId(player)) : undefined,
      byteString(Tag.CertificateRequestValue, Buffer.from(player.world.csr)),
      attributes(...drawCertificateTemplate(player)),
    ],
  }),
  ReCertify(player) {
    const template = drawCertificateTemplate(player)
    const id = drawId(player, ({ name }) => name.startsWith('certificate of'))
    return {
      members: [
        uid(id),
        player.draw.chance(0.4)
          ? byteString(Tag.CertificateRequestValue, Buffer.from(player.world.csr))
          : undefined,
        template.length > 0 && player.draw.chance(0.7) ? attributes(...template) : undefined,
      ],
    }
  },
  Validate: (player) => ({ members: [uid(drawId(player, isCertificate))] }),
  Locate: (player) => ({
    members: [
      attributes(
        ...player.draw.some([
          objectType(player.draw.one(['SymmetricKey', 'PrivateKey', 'Certificate'] as const)),
          link('CertificateLink', player.world.authority.id),
          textString(Tag.Comment, drawThing(player).canaries[0] ?? ''),
        ]),
      ),
    ],
  }),
  Create: (player) => ({
    members: player.draw.chance(0.5)
      ? new AbeClient(player.world.kmip(player.by)).wish(
          drawId(player, ({ kind }) => kind === 'abe'),
          'Team::Blue && Clearance::Secret',
        )
      : [
          objectType('SymmetricKey'),
          aesAttributes(256, textString(Tag.UniqueIdentifier, drawTakenId(player))),
        ],
  }),
  CreateKeyPair: (player) => ({
    members: [
      structure(
        Tag.CommonAttributes,
        [
          enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
          enumeration(Tag.CryptographicUsageMask, 1),
          textString(Tag.UniqueIdentifier, drawTakenId(player)),
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
          attributes(everyUse, activeSince, textString(Tag.UniqueIdentifier, drawTakenId(player))),
          aesKey(randomBytes(32)),
        ],
      }
    return { members: [objectType('SymmetricKey'), attributes(everyUse, activeSince), wrapped(player)] }
  },
  Import: (player) => ({
    members: [
      uid(player.draw.chance(0.2) ? `own-${randomBytes(8).toString('hex')}` : drawTakenId(player)),
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

/** A ciphertext of an owner, as a key that its key wrapped. */
function wrapped(player: Player): TtlvNode {
  const id = drawId(player, isAes)
  const { mode, iv, ciphertext } = drawSealed(player, id)
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

function getRequest(player: Player): Payload {
  const { draw } = player
  const wrap = draw.chance(0.35)
    ? wrappingSpecification(
        drawId(player, isAes),
        draw.one(cipherModes),
        draw.one([undefined, 'NoEncoding'] as const),
      )
    : undefined
  const clear = draw.chance(0.2)
    ? enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
    : undefined
  return { members: [uid(drawId(player)), clear, wrap] }
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
  const isOf30 = isDraftValue('Operation', Enumeration.Operation[operation])
  const form = isOf30 ? forms.length - 1 : draw.below(forms.length)
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
      const created = new Set(
        nodes.flatMap(({ value }) =>
          typeof value === 'string' && !world.things.some(({ ids }) => ids.has(value)) ? [value] : [],
        ),
      )
      const texts = items.map(({ message = '' }) => message)
      if (
        ['DeriveKey', 'Register', 'Import', 'CreateSplitKey', 'JoinSplitKey', 'Certify'].includes(operation)
      )
        for (const id of created) nodes.push(...((await client.ask('Get', [uid(id)])).payload ?? []))
      return {
        sent,
        signed: [...sent, ...messages],
        sentText: collectText(payload),
        got: collectBytes(nodes),
        gotText: [collectText(nodes), ...texts].join('\n'),
        succeeded: items[0]?.status === 'Success',
      }
    },
  }
}
