// What the words before a text can say about it: that it is a telephone number, a national id, a secret, a version, or the number of an
// order. The words are those of the languages in which telemetry is mostly written. They are in lower case, as UTF-8.

enum Topic {
    case phone, nationalID, secret, version, order

    /// The number of words before the text that are read. The number of an order or a version follows its word at once.
    var reach: Int {
        switch self {
        case .phone, .nationalID: 4
        case .secret, .order, .version: 2
        }
    }

    var words: WordList {
        switch self {
        case .phone: Topic.phoneWords
        case .nationalID: Topic.idWords
        case .secret: Topic.secretWords
        case .version: Topic.versionWords
        case .order: Topic.orderWords
        }
    }

    private static let phoneWords = WordList(phones)
    private static let idWords = WordList(ids)
    private static let secretWords = WordList("apikey password passwd passphrase pwd secret token credential credentials")
    private static let versionWords = WordList("version ver rv build release firmware sdk kernel driver versionname appversion osversion")
    private static let orderWords = WordList(orders)
    /// The words before `key` that make it a secret.
    static let keyWords = WordList("api secret access private auth account signing encryption master shared")

    private static var phones: StaticString {
        """
        phone phones phonenumber phoneno telephone tel mobile mobileno cell cellphone call fax whatsapp sms msisdn gsm \
        telefon telefonnummer telefonnr handy handynummer mobil mobilnummer mobiltelefon tél téléphone portable \
        teléfono telefono móvil movil celular telefone cellulare telefoon telefoonnummer puhelin puhelinnumero \
        komórka тел телефон 電話 電話番号 携帯 电话 电话号码 手机 手机号 전화 전화번호 휴대폰
        """
    }

    private static var ids: StaticString {
        """
        ssn sin nino bsn pesel cpf nir dni nif nie fiscale hetu rrn cpr ahv avs tckn aadhaar aadhar personnummer fødselsnummer \
        personnr steuer steuerid idnr steuernummer burgerservicenummer sofinummer henkilötunnus codicefiscale numerodni \
        nationalid socialsecurity personalid identitycard kimlik マイナンバー 個人番号 주민등록번호 身份证 身份证号 insee
        """
    }

    private static var orders: StaticString {
        """
        order orders orderid ordernumber invoice invoiceid transaction transactionid tracking parcel shipment booking ticket \
        sku ean gtin upc isbn article product productid item batch serial version build timestamp \
        bestellung bestellnummer rechnung commande facture pedido factura ordine fattura bestelling zamówienie beställning tilaus
        """
    }
}
