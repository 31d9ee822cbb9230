import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import javax.xml.crypto.dsig.CanonicalizationMethod;
import javax.xml.crypto.dsig.Transform;
import javax.xml.crypto.dsig.XMLSignatureFactory;
import javax.xml.crypto.dsig.dom.DOMSignContext;
import javax.xml.crypto.dsig.spec.C14NMethodParameterSpec;
import javax.xml.crypto.dsig.spec.TransformParameterSpec;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Signs elements as identity providers in Java do. Arguments: key, certificate, bits of the hash, names; XML in and out. */
public class Sign {
  public static void main(String[] args) throws Exception {
    String pem = new String(new FileInputStream(args[0]).readAllBytes()).replaceAll("-----[^-]+-----|\\s", "");
    PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
    X509Certificate certificate =
        (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(new FileInputStream(args[1]));
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    Document document = factory.newDocumentBuilder().parse(new ByteArrayInputStream(System.in.readAllBytes()));
    for (int index = 3; index < args.length; index++) sign(document, args[index], args[2], key, certificate);
    Transformer transformer = TransformerFactory.newInstance().newTransformer();
    transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "no");
    transformer.transform(new DOMSource(document), new StreamResult(System.out));
  }

  static void sign(Document document, String name, String bits, PrivateKey key, X509Certificate certificate)
      throws Exception {
    Element element = (Element) document.getElementsByTagNameNS("*", name).item(0);
    element.setIdAttribute("ID", true);
    XMLSignatureFactory xml = XMLSignatureFactory.getInstance("DOM");
    var exclusive = xml.newCanonicalizationMethod(CanonicalizationMethod.EXCLUSIVE, (C14NMethodParameterSpec) null);
    var transforms =
        List.of(
            xml.newTransform(Transform.ENVELOPED, (TransformParameterSpec) null),
            xml.newTransform(CanonicalizationMethod.EXCLUSIVE, (TransformParameterSpec) null));
    var digest = xml.newDigestMethod("http://www.w3.org/2001/04/xmlenc#sha" + bits, null);
    var reference = xml.newReference("#" + element.getAttribute("ID"), digest, transforms, null, null);
    var method = xml.newSignatureMethod("http://www.w3.org/2001/04/xmldsig-more#rsa-sha" + bits, null);
    var keys = xml.getKeyInfoFactory();
    var info = keys.newKeyInfo(List.of(keys.newX509Data(List.of(certificate))));
    Element issuer = (Element) element.getElementsByTagNameNS("*", "Issuer").item(0);
    var context = new DOMSignContext(key, element, issuer.getNextSibling());
    context.setDefaultNamespacePrefix("ds");
    xml.newXMLSignature(xml.newSignedInfo(exclusive, method, List.of(reference)), info).sign(context);
  }
}
