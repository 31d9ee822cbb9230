/** Payload of a KMIP 2.1 Create in JSON: an AES-256 key that is Active. */
export const createOfKmip = {
  tag: 'Create',
  type: 'Structure',
  value: [
    { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
    {
      tag: 'Attributes',
      type: 'Structure',
      value: [
        { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'AES' },
        { tag: 'CryptographicLength', type: 'Integer', value: 256 },
        { tag: 'CryptographicUsageMask', type: 'Integer', value: 12 },
        { tag: 'ActivationDate', type: 'DateTime', value: '2020-01-01T00:00:00Z' },
      ],
    },
  ],
}
