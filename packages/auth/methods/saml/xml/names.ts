/** Namespaces of SAML 2.0 and of what it stands on. */
export const namespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
  encryption11: 'http://www.w3.org/2009/xmlenc11#',
  exclusiveC14n: 'http://www.w3.org/2001/10/xml-exc-c14n#',
} as const

export type Namespace = keyof typeof namespaces

export const bindings = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const

export const nameIdFormats = {
  entity: 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
} as const

export const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'
