/** A deviation from the standard that a client needs. */
export interface Tolerance {
  readonly what: string
  readonly where: string
  readonly client: string
  /** Why the server may do it. */
  readonly safe: string
  /**
   * JSON of a node as the client sends it, and as in the standard; absent for replies and for rules of
   * operations.
   */
  readonly example?: readonly [sent: unknown, meant: unknown]
}

const cloudproof = 'cloudproof_kms_js 4.0.0'
const peerCommand = 'the command line of the deployed peer'

const text = (tag: string, value: string) => ({ tag, type: 'TextString', value })
const enumeration = (tag: string, value: string) => ({ tag, type: 'Enumeration', value })
const structure = (tag: string, ...value: readonly unknown[]) => ({ tag, type: 'Structure', value })
const attribute = [
  text('VendorIdentification', 'acme'),
  text('AttributeName', 'tag'),
  text('AttributeValue', 'a'),
]
const link = [enumeration('LinkType', 'ParentLink'), text('LinkedObjectIdentifier', 'one')]
const block = structure('KeyBlock', enumeration('KeyFormatType', 'Raw'))
const bytes = (tag: string) => ({ tag, type: 'ByteString', value: '0102' })

/**
 * All deviations from the standard that a client needs, also published in `docs/reference/clients.md`. Each
 * example is a test.
 */
export const tolerances: readonly Tolerance[] = [
  {
    what: 'A mask of type Enumeration',
    where: 'JSON in',
    client: cloudproof,
    safe: 'No mask of the standard is an Enumeration, so it has no other meaning.',
    example: [
      structure('Attributes', { tag: 'CryptographicUsageMask', type: 'Enumeration', value: 12 }),
      structure('Attributes', { tag: 'CryptographicUsageMask', type: 'Integer', value: 12 }),
    ],
  },
  {
    what: '`VendorAttributes`, a list of `VendorAttributes` or `Attribute`',
    where: 'JSON in',
    client: cloudproof,
    safe: 'The name is not a tag of the standard.',
    example: [
      structure('Attributes', structure('VendorAttributes', structure('VendorAttributes', ...attribute))),
      structure('Attributes', structure('Attribute', ...attribute)),
    ],
  },
  {
    what: 'A list around members, with their own tag (`Link` of `Link`)',
    where: 'JSON in',
    client: cloudproof,
    safe: 'No structure of the standard contains itself.',
    example: [
      structure('Attributes', structure('Link', structure('Link', ...link))),
      structure('Attributes', structure('Link', ...link)),
    ],
  },
  {
    what: '`Object` for the tag of the object',
    where: 'JSON in',
    client: cloudproof,
    safe: 'Clients of the bare JSON form send it; ObjectType beside it identifies the object.',
    example: [
      structure('RequestPayload', enumeration('ObjectType', 'SymmetricKey'), structure('Object', block)),
      structure(
        'RequestPayload',
        enumeration('ObjectType', 'SymmetricKey'),
        structure('SymmetricKey', block),
      ),
    ],
  },
  {
    what: 'KeyMaterial as a structure of one `ByteString`',
    where: 'JSON in',
    client: cloudproof,
    safe: '`ByteString` is a type, not a tag; the bytes are read like any KeyMaterial.',
    example: [
      structure('KeyValue', structure('KeyMaterial', bytes('ByteString'))),
      structure('KeyValue', bytes('KeyMaterial')),
    ],
  },
  {
    what: '`CertificateAttributes` around the parts of a name',
    where: 'JSON in',
    client: peerCommand,
    safe: 'The name is not a tag of the standard.',
    example: [
      structure('Attributes', structure('CertificateAttributes', text('CertificateSubjectCN', 'a'))),
      structure('Attributes', text('CertificateSubjectCN', 'a')),
    ],
  },
  {
    what: 'CryptographicLength of a private key that is the length of its DER encoding',
    where: 'Import (`transfer/import.ts`)',
    client: cloudproof,
    safe: 'It is ignored only if it is exactly that length, which no key has; the actual length is stored.',
  },
  {
    what: 'CryptographicLength of a Covercrypt key in bytes',
    where: 'Register, Import (`abe-keys.ts`)',
    client: cloudproof,
    safe: 'It must be an eighth of the length in bits, which no key has. The actual length is stored.',
  },
  {
    what: '`RemoveAttribute` for `DeleteAttribute`; a new attribute without its third member',
    where: 'ReKeyKeyPair of a Covercrypt key (`actions.ts`)',
    client: cloudproof,
    safe: 'There is no other action of this name, and an absent member means null.',
  },
  {
    what: 'RevocationReason as a string or a number; a PreActive key is activated and deactivated at once',
    where: 'Revoke (`revoke.ts`)',
    client: cloudproof,
    safe: 'The caller needs the rights to revoke and to activate; both steps are transitions of the standard.',
  },
  {
    what: 'The bytes of a wrapped key in a KeyMaterial, beside attributes that describe it',
    where: 'Register, Import (`key-block.ts`)',
    client: cloudproof,
    safe: 'An encrypted KeyValue consists only of bytes; any further attribute beside it is refused.',
  },
  {
    what: 'An empty TemplateAttribute in 2.0',
    where: 'every operation (`engine/item.ts`)',
    client: 'PyKMIP 0.10.0, 0.11.0',
    safe: 'It contains no attribute. One with attributes is refused, not partly ignored; in 2.1 any TemplateAttribute is refused.',
  },
  {
    what: 'Create without CryptographicUsageMask: all that the key is good for',
    where: 'Create (`create.ts`)',
    client: cloudproof,
    safe: 'The creator of a key may set any mask; Register and Import have the same default.',
  },
  {
    what: '`Object`, a list of UniqueIdentifiers, Attributes in KeyValue, other spellings',
    where: 'replies to bare operations in JSON (`encode.ts`)',
    client: cloudproof,
    safe: 'The same values under other names, to callers whose request has `Content-Type: application/json; charset=utf-8` and `Sec-Fetch-Mode`; they contain no further values.',
  },
]
