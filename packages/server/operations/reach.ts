/**
 * The effects that an operation can have on objects, for the model of reach (docs/adr/rights-and-reach.md). Each
 * operation declares its own; each right on an object declares those that it permits (`packages/keys/access/right.ts`).
 * docs/reference/reach.md lists both.
 */
export const effects = {
  'reveal existence': 'That an object exists, and its identifier.',
  'reveal attributes': 'Attributes, state, links, tags, versions, schedules and uses.',
  'reveal grants': 'Which principals have which rights.',
  'reveal installation':
    'Nodes, certificates, backups, disks, databases and settings of the services, without secrets.',
  'reveal records': 'Records of the audit log, with the identifiers of objects and principals in them.',
  'reveal public': 'Intentionally public data: public keys, certificates, CRLs, versions of the service.',
  'reveal validity': 'Whether a signature, a MAC or a certificate is valid, or a guessed value is right.',
  'reveal plaintext': 'The plaintext of a ciphertext, or the object in a wrapped block.',
  'reveal material': 'The key material, or the value of secret data, in the clear or wrapped.',
  'make ciphertext': 'A ciphertext of data of the caller, under an IV that the service generates.',
  'make signature': 'A signature over data of the caller.',
  'make mac': 'A MAC of data of the caller.',
  'make derivation': 'A secret that is computed from the material, as an object of the caller.',
  'make certificate': 'A certificate of the authority, within its profiles.',
  'make object': 'A new object of the caller.',
  'make credential': 'A credential: a password, a SecretID, an access key, an ACME account.',
  'make session': 'A session or a machine token.',
  'change attributes': 'Attributes, names, links, dates and schedules.',
  'change tags': 'Tags.',
  'change state': 'Activation, disabling and enabling, archive, waiting destruction, holds of certificates.',
  'change limits': 'Uses counted against the usage limits of a key.',
  'change versions':
    'A new version of a key, or the replacement of a certificate, with the attributes of the old one.',
  'change grants': 'Rights of other principals, among those that the caller has.',
  'change owner': 'The owner.',
  'change names': 'Aliases of the caller, and names under which subjects are known.',
  'change settings': 'Settings of realms, roles, key stores, ACME directories and officers.',
  'end object': 'The use of an object: deactivation, compromise, destruction.',
  'end certificate': 'The validity of a certificate.',
  'end credential': 'The validity of a credential.',
  'end session': 'A session or a machine token.',
} as const
export type Effect = keyof typeof effects
