/** XML that is refused: malformed, beyond a limit, or with a construct that SAML does not need. */
export class XmlRefused extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'XmlRefused'
  }
}
