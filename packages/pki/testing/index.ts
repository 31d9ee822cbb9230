/** Files made with OpenSSL, the program itself, and certificates made for tests. */
export { issue, now, type Party, party, toIssuer, year } from './authorities.ts'
export { p256Request, pssRequest, sha1Request } from './certificate-requests.ts'
export { missingOpenssl, type OpensslFolder, type OpensslRun, opensslFolder, pem } from './openssl.ts'
export { legacyFile, modernFile } from './pkcs12-files.ts'
